"""The routes of one member: ``/health``, and the calls below ``/v3`` that are made of it."""

import json
from typing import Any

import falcon

from shipyard_simulators.etcd.cluster import CLUSTER_ID, FOREIGN_ID, LATE, Member, MemberState, SimulatedEtcd
from shipyard_simulators.etcd.errors import EtcdError, invalid, no_space, unavailable

VERSION = "3.4.23"


class Health:
    """``/health``."""

    def __init__(self, cluster: SimulatedEtcd) -> None:
        self._cluster = cluster

    def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Answer "true" with a leader and without an alarm."""
        good = self._cluster.leader is not None and not self._cluster.no_space
        resp.status = falcon.HTTP_200 if good else falcon.HTTP_503
        resp.media = {"health": "true" if good else "false"}


class Calls:
    """The calls of one member; all are POST."""

    def __init__(self, cluster: SimulatedEtcd, member: Member) -> None:
        self._cluster, self._member = cluster, member

    def on_post_list(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Return the members from this member's own state, without a quorum, too (as 3.4 does)."""
        resp.media = self._members()

    def on_post_status(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Return the status without its empty fields."""
        cluster, leader = self._cluster, self._cluster.leader
        index = str(cluster.index)
        status = {"header": self._header(), "version": VERSION, "dbSize": "24576", "dbSizeInUse": "16384"}
        status |= {"raftIndex": index, "raftTerm": str(cluster.term), "raftAppliedIndex": index}
        errors = [] if leader else ["etcdserver: no leader"]
        if cluster.no_space:
            errors.append(f"memberID:{self._member.id} alarm:NOSPACE ")
        values = {"leader": str(leader.id) if leader else "", "errors": errors, "isLearner": self._member.learner}
        resp.media = status | {key: value for key, value in values.items() if value}

    def on_post_alarm(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Return the alarms; this needs a quorum."""
        self._cluster.propose()
        alarm = {"memberID": str(self._member.id), "alarm": "NOSPACE"}
        resp.media = {"alarms": [alarm]} if self._cluster.no_space else {}

    def on_post_transfer(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Transfer the leadership."""
        self._cluster.transfer(self._member, _number(req, "targetID"))
        resp.media = {"header": self._header()}

    def on_post_remove(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Remove a member; never answers without a quorum."""
        self._cluster.remove(_number(req, "ID"))
        resp.media = self._members()

    def on_post_put(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Accept a write, which is not kept."""
        if self._member.learner:
            raise unavailable("etcdserver: rpc not supported for learner")
        self._cluster.propose()
        if self._cluster.no_space:
            raise no_space()
        resp.media = {"header": self._header()}

    def _members(self) -> dict[str, Any]:
        entries = self._cluster.look(lambda: [member.entry() for member in self._cluster.members])
        return {"header": self._header(), "members": entries}

    def _header(self) -> dict[str, str]:
        foreign = self._member.state is MemberState.FOREIGN
        return {
            "cluster_id": str(FOREIGN_ID if foreign else CLUSTER_ID),
            "member_id": str(self._member.id),
            "raft_term": str(self._cluster.term),
        }


class Slowness:
    """Middleware for a slow member."""

    def __init__(self, cluster: SimulatedEtcd, member: Member) -> None:
        self._cluster, self._member = cluster, member

    def process_request(self, _req: falcon.Request, _resp: falcon.Response) -> None:
        """Delay the request."""
        if self._member.state is MemberState.SLOW:
            self._cluster.clock.sleep(self._cluster.clock.scaled(LATE))


def refuse(_req: falcon.Request, resp: falcon.Response, error: EtcdError, _params: object = None) -> None:
    """Answer a request that failed."""
    resp.status = falcon.code_to_http_status(error.status)
    resp.media = error.body()


def unknown(_req: falcon.Request, resp: falcon.Response, error: falcon.HTTPError, _params: object) -> None:
    """Answer an unknown path or a wrong method as the gateway's router does."""
    resp.status = error.status
    resp.content_type = "text/plain; charset=utf-8"
    resp.text = f"{falcon.code_to_http_status(error.status).partition(' ')[2]}\n"


def _number(req: falcon.Request, key: str) -> int:
    """Return a member's number, which must be a text: JSON's numbers would lose digits."""
    try:
        body = json.loads(req.bounded_stream.read() or b"{}")
        value = body.get(key, "0")
        if not isinstance(value, str):
            raise invalid(f"json: cannot unmarshal {value!r} into Go value of type uint64")
        return int(value)
    except (ValueError, AttributeError) as cause:
        raise invalid(str(cause)) from cause
