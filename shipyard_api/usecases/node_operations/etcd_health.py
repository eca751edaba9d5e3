"""Read the health of the etcd clusters that a design manages (seed 004, Check etcd; contract: promenade, 3.3)."""

from collections.abc import Sequence

from msgspec import Struct

from shipyard_api.domain.documents import Revision
from shipyard_api.domain.findings import errors
from shipyard_api.domain.node_operations import Reason, refused
from shipyard_api.domain.site_design import DesignRules
from shipyard_api.domain.teardown.design_references import NotOurDesign, revision_of
from shipyard_api.domain.teardown.etcd_documents import read_etcd_clusters
from shipyard_api.domain.teardown.etcd_members import EtcdCluster
from shipyard_api.ports.documents import RenderingFailed, UnknownRevision
from shipyard_api.ports.etcd import Etcd, NotEtcd
from shipyard_api.usecases.configdocs.rendered_designs import RenderedDesigns
from shipyard_api.usecases.node_operations.operate import OperationRefused


class EtcdHealth(Struct, frozen=True):
    """The use case; changes nothing. ``design_template``: as for OperateNodes."""

    rendered: RenderedDesigns
    rules: DesignRules
    etcd: Etcd
    design_template: str

    def __call__(self, design_ref: str | None) -> Sequence[EtcdCluster]:
        """Return a look at each cluster. Raises OperationRefused."""
        if not design_ref:
            message = "design_ref is missing: name a revision of this site, as in a design reference."
            raise OperationRefused(refused(Reason.MISSING_DESIGN_REF, message))
        try:
            revision = revision_of(design_ref, self.design_template)
        except NotOurDesign as wrong:
            raise OperationRefused(refused(Reason.BAD_REQUEST, f"design_ref: {wrong}")) from wrong
        try:
            return self._look(revision)
        except UnknownRevision as unknown:
            raise OperationRefused(refused(Reason.NOT_FOUND, f"This site has no revision {revision}.")) from unknown
        except RenderingFailed as failed:
            messages = [finding.message for finding in errors(failed.findings)]
            raise OperationRefused(refused(Reason.BAD_REQUEST, *messages)) from failed
        except NotEtcd as wrong:
            raise OperationRefused(refused(Reason.ETCD_NOT_ACCESSIBLE, str(wrong))) from wrong

    def _look(self, revision: Revision) -> Sequence[EtcdCluster]:
        documents = (rendered.document for rendered in self.rendered.of(revision).documents)
        accesses, findings = read_etcd_clusters(documents, self.rules.check)
        if faults := errors(findings):
            raise OperationRefused(refused(Reason.BAD_REQUEST, *(fault.message for fault in faults)))
        if not accesses:
            message = f"Revision {revision} has no document promenade/EtcdClusters/v1 with a cluster."
            raise OperationRefused(refused(Reason.NOT_FOUND, message))
        return [self.etcd.look(access) for access in accesses]
