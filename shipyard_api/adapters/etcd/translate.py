"""Answers of etcd's gateway as members and their state (contract: promenade, 4.3 and 4.4). Pure."""

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.teardown.etcd_members import EtcdMember, MemberId, MemberState

NO_SPACE = "NOSPACE"


class UnexpectedForm(Exception):
    """The answer is not etcd's."""


class MemberList(Struct, frozen=True):
    """A member list; members have no state yet."""

    cluster_id: str
    members: tuple[EtcdMember, ...]


class MemberStatus(Struct, frozen=True):
    """What a member reports of itself. ``leader``: empty without one. ``applied``: its place in the log."""

    cluster_id: str
    member_id: MemberId
    leader: str = ""
    errors: tuple[str, ...] = ()
    applied: int = 0


def member_list(answer: JsonObject) -> MemberList:
    """Return the member list. Raises UnexpectedForm."""
    members = answer.get("members")
    if not isinstance(members, list) or not members:
        raise UnexpectedForm("no list of members")
    return MemberList(_header(answer)[0], tuple(map(_member, members)))


def member_status(answer: JsonObject) -> MemberStatus:
    """Return the status of the member that answered. Raises UnexpectedForm."""
    cluster_id, member_id = _header(answer)
    leader, applied = _number(answer.get("leader")), _number(answer.get("raftAppliedIndex"))
    reported = answer.get("errors")
    errors = tuple(map(str, reported)) if isinstance(reported, list) else ()
    # A member without a leader leaves it out; no member has the number 0.
    return MemberStatus(cluster_id, MemberId(member_id), "" if leader == "0" else leader, errors, int(applied or 0))


def is_healthy(answer: JsonObject) -> bool:
    """Return whether the answer of ``/health`` is good; newer releases add reasons to a bad one."""
    return answer.get("health") in ("true", True)


def has_no_space(answer: JsonObject) -> bool:
    """Return whether one of the alarms stops all writes."""
    alarms = answer.get("alarms")
    return isinstance(alarms, list) and any(
        isinstance(alarm, dict) and alarm.get("alarm") == NO_SPACE for alarm in alarms
    )


def judged(member: EtcdMember, status: MemberStatus, *, good: bool) -> EtcdMember:
    """Return a member that answered with its state. ``good``: its ``/health`` is."""
    # Behind a shared address, another member may have answered for it.
    is_itself = status.member_id == member.id
    healthy = good and is_itself and bool(status.leader) and not status.errors
    state = MemberState.HEALTHY if healthy else MemberState.UNHEALTHY
    return replace(member, state=state, leader=is_itself and status.leader == member.id)


def _header(answer: JsonObject) -> tuple[str, str]:
    header = answer.get("header")
    if not isinstance(header, dict):
        raise UnexpectedForm("no header")
    cluster, member = _number(header.get("cluster_id")), _number(header.get("member_id"))
    if not (cluster and member):
        raise UnexpectedForm("no numbers of cluster and member")
    return cluster, member


def _member(entry: Any) -> EtcdMember:
    number = _number(entry.get("ID")) if isinstance(entry, dict) else ""
    if not number:
        raise UnexpectedForm("a member without a number")
    return EtcdMember(
        MemberId(number),
        str(entry.get("name") or ""),
        learner=entry.get("isLearner") is True,
        peer_urls=_urls(entry.get("peerURLs")),
        client_urls=_urls(entry.get("clientURLs")),
    )


def _number(value: object) -> str:
    """Return a 64-bit number as text; a float would have lost digits."""
    text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    return text if text.isascii() and text.isdecimal() else ""


def _urls(value: object) -> tuple[str, ...]:
    return tuple(str(text) for text in value) if isinstance(value, list) else ()
