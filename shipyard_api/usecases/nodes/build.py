"""The use cases on nodes, built together."""

from collections.abc import Callable

from msgspec import Struct

from shipyard_api.actions.protection import ReadProtection
from shipyard_api.actions.site_checks import ActionDesigns
from shipyard_api.actions.steps.hardware import Hardware
from shipyard_api.actions.steps.specifications import Specifications
from shipyard_api.usecases.nodes.check_etcd import CheckEtcd
from shipyard_api.usecases.nodes.compare import CompareNodes
from shipyard_api.usecases.nodes.drain_plan import PlanDrain
from shipyard_api.usecases.nodes.hardware import DescribeHardware
from shipyard_api.usecases.nodes.list import ListNodes, SiteStatuses
from shipyard_api.usecases.parts import SiteParts


class NodeUseCases(Struct, frozen=True):
    """What callers ask about nodes. ``check_etcd``: what actions and node operations check before they begin."""

    check_etcd: CheckEtcd
    plan_drain: PlanDrain
    list: ListNodes
    statuses: SiteStatuses
    hardware: DescribeHardware


def build(
    parts: SiteParts, *, job_address: Callable[[str], str | None], page_of: Callable[[str], str | None]
) -> NodeUseCases:
    """Return the use cases. The addresses are as of ``ListNodes``."""
    store, rendered, rules, provisioner = parts.store, parts.rendered, parts.rules, parts.provisioner
    specifications = Specifications(store, rendered.of, rendered.fingerprint, provisioner, rules.check)
    compare = CompareNodes(specifications, rendered.committed)
    protection = ReadProtection(ActionDesigns(parts.designs, rendered.of), rules)
    return NodeUseCases(
        check_etcd=CheckEtcd(protection, parts.cluster_nodes, parts.etcd),
        plan_drain=PlanDrain(protection, parts.cluster_nodes, parts.etcd),
        list=ListNodes(store, job_address, page_of, rendered.committed_nodes, compare),
        statuses=SiteStatuses(provisioner),
        hardware=DescribeHardware(Hardware(rendered.of, rules.check, provisioner, store), rendered.committed),
    )
