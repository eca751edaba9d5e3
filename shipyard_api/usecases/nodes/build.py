"""The use cases on nodes, built together."""

from collections.abc import Callable

from msgspec import Struct

from shipyard_api.actions.protection import ReadProtection
from shipyard_api.actions.site_checks import ActionDesigns
from shipyard_api.actions.steps.hardware import Hardware
from shipyard_api.actions.steps.specifications import Specifications
from shipyard_api.domain.site_design import DesignRules
from shipyard_api.ports.cluster import ClusterNodes
from shipyard_api.ports.documents import DesignStore
from shipyard_api.ports.etcd import Etcd
from shipyard_api.ports.provisioner import Provisioner
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.usecases.configdocs.rendered_designs import RenderedDesigns
from shipyard_api.usecases.nodes.check_etcd import CheckEtcd
from shipyard_api.usecases.nodes.compare import CompareNodes
from shipyard_api.usecases.nodes.drain_plan import PlanDrain
from shipyard_api.usecases.nodes.hardware import DescribeHardware
from shipyard_api.usecases.nodes.list import ListNodes, SiteStatuses


class NodeUseCases(Struct, frozen=True):
    """What callers ask about nodes. ``check_etcd``: what actions and node operations check before they begin."""

    check_etcd: CheckEtcd
    plan_drain: PlanDrain
    list: ListNodes
    statuses: SiteStatuses
    hardware: DescribeHardware


def build(
    *,
    store: Store,
    designs: DesignStore,
    rendered: RenderedDesigns,
    rules: DesignRules,
    provisioner: Provisioner,
    cluster: ClusterNodes | None,
    etcd: Etcd,
    job_address: Callable[[str], str | None],
    page_of: Callable[[str], str | None],
) -> NodeUseCases:
    """Return the use cases. ``cluster``: None where no Kubernetes is configured; the addresses as of ``ListNodes``."""
    specifications = Specifications(store, rendered.of, rendered.fingerprint, provisioner, rules.check)
    compare = CompareNodes(specifications, rendered.committed)
    protection = ReadProtection(ActionDesigns(designs, rendered.of), rules)
    return NodeUseCases(
        check_etcd=CheckEtcd(protection, cluster, etcd),
        plan_drain=PlanDrain(protection, cluster, etcd),
        list=ListNodes(store, job_address, page_of, rendered.committed_nodes, compare),
        statuses=SiteStatuses(provisioner),
        hardware=DescribeHardware(Hardware(rendered.of, rules.check, provisioner, store), rendered.committed),
    )
