"""What protects running things: read from the newest committed design, whatever revision is installed (ADR 0021).

Plans, drain plans, admissions, node operations and running actions ask this one function.
"""

from msgspec import Struct

from shipyard_api.actions.site_checks import ActionDesigns
from shipyard_api.domain.documents import Revision
from shipyard_api.domain.findings import error
from shipyard_api.domain.rollout.policy.reading import PolicyInputs
from shipyard_api.domain.site_design import DesignRules
from shipyard_api.domain.teardown.etcd_documents import Protection, genesis_hosts, read_etcd_clusters
from shipyard_api.ports.documents import COMMITS, RenderingFailed, UnknownRevision


class ReadProtection(Struct, frozen=True):
    """The reader; every method may raise ports.errors if the design store is a peer."""

    designs: ActionDesigns
    rules: DesignRules

    def __call__(self, otherwise: int = 0) -> Protection:
        """Return the protection by the newest committed design; before the first commit by ``otherwise``."""
        return self.of(self.revision(otherwise))

    def revision(self, otherwise: int = 0) -> Revision | None:
        """Return the revision that protects."""
        return self.designs.store.heads().with_any(*COMMITS) or Revision(otherwise) or None

    def of(self, committed: Revision | None) -> Protection:
        """Return the protection by a revision that counts as the newest committed one."""
        usual = self.rules.usual_limits
        if committed is None:
            return Protection(usual)
        try:
            rendering = self.designs.rendered(committed)
        except RenderingFailed as failed:
            return Protection(usual, committed, faults=failed.findings)
        except UnknownRevision as unknown:
            return Protection(usual, committed, faults=[error("RevisionNotFound", str(unknown))])
        documents = [each.document for each in rendering.documents]
        clusters, faults = read_etcd_clusters(documents, self.rules.check)
        inputs, _ = self.rules.read_configuration(committed, rendering)
        limits = inputs.configuration.teardown if inputs else usual
        return Protection(limits, committed, clusters, genesis_hosts(documents), faults)

    def policy(self) -> PolicyInputs | None:
        """Return the rules of the newest committed policy for single servers, None without any."""
        if (committed := self.revision()) is None:
            return None
        try:
            inputs, _ = self.rules.read_run(committed, self.designs.rendered(committed))
        except (RenderingFailed, UnknownRevision):
            return None
        return inputs.policy if inputs else None
