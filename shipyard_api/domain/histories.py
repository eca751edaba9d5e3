"""The histories of a database: a promoted standby or a restored dump may lack the end of the one before. Pure."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from msgspec import Struct

from shipyard_api.domain.reconciliation import JobAnswers


class HistoryIdentity(Struct, frozen=True):
    """What distinguishes a history: the server's system identifier and timeline, the database, one of our tables.

    ``database`` is an object id, ``table`` the number of the table's file: a dump that is restored into the same server
    creates both anew. The file is another one also after a TRUNCATE, and after a VACUUM FULL, which loses nothing.
    """

    system: int
    timeline: int
    database: int
    table: int


class LostHistory(NamedTuple):
    """What an action recorded ``after`` this moment may be lost; that was ``noticed`` then.

    ``noticed``: None if nothing shows a loss. Some leave no sign, so then it is all that the action recorded; each of
    these needs another start of the database's ``server``. ``answers``: what an operator has said of jobs since.
    """

    after: datetime
    noticed: datetime | None
    answers: JobAnswers = JobAnswers()
    server: str = ""

    @property
    def occasion(self) -> str:
        """What distinguishes this possible loss from an earlier one."""
        return f"{self.noticed.isoformat() if self.noticed else ''} {self.server}"


class Position(NamedTuple):
    """How far a server has written: its timeline, and its place in the write-ahead log."""

    timeline: int
    place: int


def difference(before: HistoryIdentity, now: HistoryIdentity) -> str:
    """Return what happened to the database between two identities, as a sentence; empty if they are the same."""
    if now.system != before.system:
        return "the database is on another server, restored or replaced"
    if now.timeline > before.timeline:
        return (
            f"a standby became the primary, or a backup was restored (timeline {now.timeline} after {before.timeline})"
        )
    if now.timeline < before.timeline:
        return f"the server is back at an earlier timeline ({now.timeline} after {before.timeline})"
    if now.database != before.database:
        return "the database was created again, as from a dump"
    if now.table != before.table:
        return "its tables were created again or emptied, as for a dump"
    return ""


class Writable(Struct, frozen=True):
    """A database server that accepts writes, and the history that it writes on."""

    system: int
    timeline: int


def successor(servers: Sequence[Writable | None], current: int) -> int | None:
    """Return the place of the server that replaced the ``current`` one although that still accepts writes, or None.

    ``servers``: those of the database's address, in its order; None for one that is a standby, or does not answer.
    """
    used = servers[current]
    if used is None:
        return None
    later = [
        (server.timeline, place)
        for place, server in enumerate(servers)
        if server is not None and server.system == used.system and server.timeline > used.timeline
    ]
    return max(later)[1] if later else None


class Replication(Struct, frozen=True):
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
