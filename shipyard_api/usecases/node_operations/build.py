"""The use cases on single nodes of a cluster, built together."""

from collections.abc import Callable

from msgspec import Struct

from shipyard_api.domain.site_design import DesignRules
from shipyard_api.ports.cluster import ClusterNodes
from shipyard_api.ports.documents import DesignStore
from shipyard_api.ports.etcd import Etcd
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.usecases.configdocs.rendered_designs import RenderedDesigns
from shipyard_api.usecases.node_operations.etcd_health import EtcdHealth
from shipyard_api.usecases.node_operations.operate import OperateNodes
from shipyard_api.usecases.nodes.check_etcd import CheckEtcd
from shipyard_api.workflow.definition import Definition


class NodeOperationUseCases(Struct, frozen=True):
    """What callers do with single nodes of a cluster, and ask about its etcd."""

    operate: OperateNodes
    etcd_health: EtcdHealth


def build(
    *,
    store: Store,
    designs: DesignStore,
    rendered: RenderedDesigns,
    rules: DesignRules,
    cluster: ClusterNodes | None,
    etcd: Etcd,
    check_etcd: CheckEtcd,
    definition: Definition,
    new_id: Callable[[], str],
    design_template: str,
    direct: bool,
) -> NodeOperationUseCases:
    """Return the use cases. ``cluster``: None where no Kubernetes is configured; the rest as of ``OperateNodes``."""
    return NodeOperationUseCases(
        OperateNodes(
            store=store,
            designs=designs,
            rules=rules,
            nodes=cluster,
            check_etcd=check_etcd,
            definition=definition,
            new_id=new_id,
            design_template=design_template,
            direct=direct,
        ),
        EtcdHealth(rendered, rules, etcd, design_template),
    )
