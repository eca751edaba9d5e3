"""The use cases on nodes, actions and documents of a site: the API's, and those of a worker that pulls designs."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from ulid import ULID

from shipyard_api.actions.steps.cases import FindCases
from shipyard_api.adapters.identity import IdentityKind
from shipyard_api.api.http.dialect import UseCases
from shipyard_api.domain.actions import NODE_OPERATION
from shipyard_api.domain.documents import Revision
from shipyard_api.domain.findings import Finding
from shipyard_api.ports.identity import Identities
from shipyard_api.settings.plugins import ASSIGNMENTS
from shipyard_api.usecases.actions import build as actions
from shipyard_api.usecases.actions.design_changes import changes_of_site
from shipyard_api.usecases.configdocs import build as configdocs
from shipyard_api.usecases.configdocs.commit import Validator
from shipyard_api.usecases.configdocs.versions import committed_revision
from shipyard_api.usecases.deploy_templates.manage import ManageTemplates
from shipyard_api.usecases.deploy_templates.plan import PlanDeploySteps
from shipyard_api.usecases.drift.find import FindDrift
from shipyard_api.usecases.holds.manage import NodeHolds
from shipyard_api.usecases.journal import build as journal
from shipyard_api.usecases.node_operations.etcd_health import EtcdHealth
from shipyard_api.usecases.node_operations.operate import OperateNodes
from shipyard_api.usecases.nodes import build as nodes
from shipyard_api.usecases.nodes.adopt import AdoptNodes
from shipyard_api.usecases.software import build as software
from shipyard_api.wiring import design_stores, parts, promenades, provisioners


@dataclass(frozen=True, slots=True)
class SiteUseCases:
    """``plan_steps``: the planner of deploy steps, which further use cases share."""

    nodes: nodes.NodeUseCases
    actions: actions.ActionUseCases
    configdocs: configdocs.ConfigdocsUseCases
    plan_steps: PlanDeploySteps


def build(built: parts.Parts) -> SiteUseCases:
    """Return the use cases. Raises SettingsError."""
    settings, places = built.settings, provisioners.places(built.settings)
    plan_steps = PlanDeploySteps(built.store, built.rendered, built.provisioner, built.schemas.check)
    of_nodes = nodes.build(built, job_address=places.job, page_of=provisioners.node_page(settings))
    of_actions = actions.build(
        built,
        definitions=parts.definitions(built),
        new_id=new_id,
        places=places,
        nodes=of_nodes,
        plan_steps=plan_steps,
    )
    of_configdocs = configdocs.build(
        designs=built.designs,
        rendered=built.rendered,
        lock=built.lock,
        rules=built.rules,
        compile_schema=built.compile_schema,
        on_load=parts.version_rule(settings, settings.validations.deployment_version_create),
        validators=_validators(built, plan_steps, of_actions, of_nodes),
    )
    return SiteUseCases(of_nodes, of_actions, of_configdocs, plan_steps)


def of_api(built: parts.Parts, identities: Identities) -> UseCases:
    """Return the use cases of every dialect. Raises SettingsError."""
    settings, store, rules, cases = built.settings, built.store, built.rules, build(built)
    designs, rendered, design_template = built.designs, built.rendered, provisioners.design_url(settings)
    return UseCases(
        actions=cases.actions,
        configdocs=cases.configdocs,
        journal=journal.build(store, provisioners.places(settings), provisioners.links(settings)),
        nodes=cases.nodes,
        operate=OperateNodes(
            store=store,
            designs=designs,
            rules=rules,
            nodes=built.cluster_nodes,
            check_etcd=cases.nodes.check_etcd,
            definition=parts.definitions(built)[NODE_OPERATION],
            new_id=new_id,
            design_template=design_template,
            direct=not settings.promenade.teardown,
        ),
        etcd_health=EtcdHealth(rendered, rules, built.etcd, design_template),
        node_holds=NodeHolds(store, designs, rendered, built.clock),
        adopt=AdoptNodes(cases.plan_steps, built.clock),
        templates=ManageTemplates(store),
        plan_steps=cases.plan_steps,
        find_drift=_find_drift(built, cases),
        software=software.build(built, cases.actions.create, ASSIGNMENTS.installed()),
        schemas=built.schemas,
        tokens=None if settings.identity.kind is IdentityKind.NONE else identities,
        design_bytes=settings.api.design_bytes,
        json_bytes=settings.api.json_bytes,
    )


def _find_drift(built: parts.Parts, cases: SiteUseCases) -> FindDrift:
    designs, rendered, plan_steps = built.designs, built.rendered, cases.plan_steps
    hardware = cases.nodes.hardware.hardware
    return FindDrift(
        built.store,
        built.provisioner,
        built.cluster,
        partial(design_stores.machines, rendered),
        lambda revision: plan_steps(revision).requested,
        partial(design_stores.firmware, rendered, built.schemas.check),
        rendered.committed_nodes,
        lambda deployed: changes_of_site(plan_steps, committed_revision(designs.heads()), deployed),
        FindCases(built.store, rendered.of, hardware.seen_features, hardware.expected).design,
        partial(hardware.compared, polls=sys.maxsize),
    )


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
