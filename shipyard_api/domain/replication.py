"""Whether a fail-over of the database may lose what it has confirmed. Pure."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Replication:
    """How a primary replicates: the standbys that are attached, how many of them commits wait for, and for what.

    ``synchronous`` is None if our role may not see that. ``names``: synchronous_standby_names; ``commit``:
    synchronous_commit of our sessions.
    """

    standbys: int
    synchronous: int | None
    names: str
    commit: str

    @property
    def finding(self) -> str:
        """What may be lost, and what to set; empty if nothing, or if there is no standby."""
        if not self.standbys:
            return ""
        lost = "a fail-over may lose the last writes"
        if not self.names.strip():
            return f"replication is asynchronous: {lost}; set synchronous_standby_names"
        if self.commit in ("off", "local"):
            return f"synchronous_commit is {self.commit}, so commits wait for no standby: {lost}; set it to on"
        if self.synchronous == 0:
            return f"no attached standby is synchronous: {lost}; see synchronous_standby_names and pg_stat_replication"
        return ""
