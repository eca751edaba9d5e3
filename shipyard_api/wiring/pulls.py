"""Wire the pull of designs from a git repository."""

from collections.abc import Callable, Sequence
from uuid import uuid4

from shipyard_api.domain.actions import PULL_DESIGN
from shipyard_api.wiring import parts


def pull(built: parts.Parts) -> Sequence[Callable[[], object]]:
    """Return the chore of a worker that pulls the design of the site; none without [git] url."""
    options = built.settings.git
    if not options.url:
        return ()
    from shipyard_api.adapters.git.repository import GitRepository
    from shipyard_api.api.airship.plans import plan_entity
    from shipyard_api.usecases.callers import Caller
    from shipyard_api.usecases.pulls import DeployPulled, PullDesign
    from shipyard_api.wiring import site_use_cases
    from shipyard_api.yaml_stream import YamlFault, read_documents

    def read(content: bytes) -> Sequence[object]:
        try:
            return read_documents(content)
        except YamlFault as fault:
            raise ValueError(str(fault)) from fault

    cases = site_use_cases.build(built)
    actions = cases.actions
    # No token has this key, and nobody is asked to trust the name: the settings of the site let it act.
    caller = Caller("git", frozenset(), str(uuid4()), "git")
    deploy = DeployPulled(built.designs, actions.plan, actions.plans, actions.create, caller, plan_entity)
    pull_design = PullDesign(
        source=GitRepository(options, built.settings.api.design_bytes),
        read=read,
        store=built.store,
        load=cases.configdocs.load,
        commit=cases.configdocs.commit,
        deployments=deploy,
        definition=parts.definitions(built)[PULL_DESIGN],
        caller=caller,
        new_id=site_use_cases.new_id,
        now=built.clock.now,
        collection=options.collection,
        goal=options.action,
        pause=options.interval * built.settings.engine.time_scale,
    )
    return (pull_design,)
