"""The parts of a site that its use cases work with."""

from dataclasses import dataclass

from shipyard_api.actions.site_checks import RemoteAccess
from shipyard_api.domain.documents import Compile
from shipyard_api.domain.site_design import DesignRules
from shipyard_api.ports.clock import Clock
from shipyard_api.ports.cluster import Cluster, ClusterNodes
from shipyard_api.ports.documents import DesignStore, WriterLock
from shipyard_api.ports.etcd import Etcd
from shipyard_api.ports.provisioner import Provisioner
from shipyard_api.ports.schemas import Schemas
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.usecases.configdocs.rendered_designs import RenderedDesigns


@dataclass(frozen=True, kw_only=True)
class SiteParts:
    """What each package of use cases is built from.

    ``cluster``, ``cluster_nodes``: None where no Kubernetes is configured; ``access``: None where no SSH is.
    """

    store: Store
    designs: DesignStore
    rendered: RenderedDesigns
    lock: WriterLock
    clock: Clock
    schemas: Schemas
    compile_schema: Compile
    rules: DesignRules
    provisioner: Provisioner
    cluster: Cluster | None
    cluster_nodes: ClusterNodes | None
    etcd: Etcd
    access: RemoteAccess | None
