"""What adds tags to nodes that get a role: an entry point of the group ``shipyard.assignments`` (seed 002, Nailgun)."""

from collections.abc import Callable, Collection, Sequence

from msgspec import Struct

from shipyard_api.domain.task_graph.roles import ClusterNode


class AssignmentPlugin(Struct, frozen=True):
    """``tags`` returns further tags of a node that gets a role that it did not have; all must exist in the cluster.

    Its arguments: the node with all its roles and tags, and the other nodes of the site with theirs. An instance of a
    tag, such as ``mysql:2``, goes with the role that gives the tag. It is called while other assignments wait: it must
    not ask a peer. If it raises, nothing is assigned.
    """

    tags: Callable[[ClusterNode, Sequence[ClusterNode]], Collection[str]]
