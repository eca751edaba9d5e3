"""The use cases on nodes, actions and documents of a site: the API's, and those of a worker that pulls designs."""

from collections.abc import Sequence
from dataclasses import dataclass

from ulid import ULID

from shipyard_api.domain.documents import Revision
from shipyard_api.domain.findings import Finding
from shipyard_api.usecases.actions import build as actions
from shipyard_api.usecases.configdocs import build as configdocs
from shipyard_api.usecases.configdocs.commit import Validator
from shipyard_api.usecases.deploy_templates.plan import PlanDeploySteps
from shipyard_api.usecases.nodes import build as nodes
from shipyard_api.wiring import parts, promenades, provisioners


@dataclass(frozen=True, slots=True)
class SiteUseCases:
    """``plan_steps``: the planner of deploy steps, which further use cases share."""

    nodes: nodes.NodeUseCases
    actions: actions.ActionUseCases
    configdocs: configdocs.ConfigdocsUseCases
    plan_steps: PlanDeploySteps


def build(built: parts.Parts) -> SiteUseCases:
    """Return the use cases. Raises SettingsError."""
    settings, store, schemas, designs, rendered = (
        built.settings,
        built.store,
        built.schemas,
        built.designs,
        built.rendered,
    )
    places = provisioners.places(settings)
    plan_steps = PlanDeploySteps(store, rendered, built.provisioner, schemas.check)
    of_nodes = nodes.build(
        store=store,
        designs=designs,
        rendered=rendered,
        rules=built.rules,
        provisioner=built.provisioner,
        cluster=built.cluster_nodes,
        etcd=built.etcd,
        job_address=places.job,
        page_of=provisioners.node_page(settings),
    )
    of_actions = actions.build(
        store=store,
        designs=designs,
        rendered=rendered,
        schemas=schemas,
        rules=built.rules,
        definitions=parts.definitions(built),
        clock=built.clock,
        new_id=new_id,
        access=built.access,
        places=places,
        cluster=built.cluster,
        nodes=of_nodes,
        plan_steps=plan_steps,
    )
    of_configdocs = configdocs.build(
        designs=designs,
        rendered=rendered,
        lock=built.lock,
        rules=built.rules,
        compile_schema=built.compile_schema,
        on_load=parts.version_rule(settings, settings.validations.deployment_version_create),
        validators=_validators(built, plan_steps, of_actions, of_nodes),
    )
    return SiteUseCases(of_nodes, of_actions, of_configdocs, plan_steps)


def new_id() -> str:
    """Return a new id of an action or a plan."""
    return str(ULID())


def _validators(
    built: parts.Parts, plan_steps: PlanDeploySteps, of_actions: actions.ActionUseCases, of_nodes: nodes.NodeUseCases
) -> list[Validator]:
    """Return the peers that validate a design before commit. Armada is retired and not among them."""
    provisioner, hardware = built.provisioner, of_nodes.hardware.hardware

    def validate(revision: int) -> Sequence[Finding]:
        return provisioner.validate_design(provisioner.design_reference(revision))

    promenade = promenades.validation(built.settings)
    others = [Validator("Promenade", promenade)] if promenade else []
    steps = Validator(provisioner.name, lambda revision: plan_steps(revision).findings)
    seen = Validator(provisioner.name, lambda revision: hardware.findings(Revision(revision)))
    acceptance = Validator("Shipyard", of_actions.check_acceptance)
    return [Validator(provisioner.name, validate), steps, seen, acceptance, *others]
