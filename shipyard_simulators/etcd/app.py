"""The routes of a simulated etcd: the gateway of each member, and control routes on a port of their own."""

import json

import falcon

from shipyard_simulators import control, request_log
from shipyard_simulators.clock import Clock
from shipyard_simulators.control import refuse
from shipyard_simulators.etcd import member_resources
from shipyard_simulators.etcd.cluster import Member, MemberState, SimulatedEtcd
from shipyard_simulators.etcd.errors import EtcdError
from shipyard_simulators.etcd.programs import Programs
from shipyard_simulators.events import EventLog
from shipyard_simulators.server import Application

_CALLS = {
    "cluster/member/list": "list",
    "cluster/member/remove": "remove",
    "maintenance/status": "status",
    "maintenance/alarm": "alarm",
    "maintenance/transfer-leadership": "transfer",
    "kv/put": "put",
}
_WORDS = {state.value: state for state in MemberState if state is not MemberState.REMOVED}


def member_app(cluster: SimulatedEtcd, member: Member, clock: Clock, log: EventLog, *, prefix: str) -> Application:
    """Return the WSGI application of one member. ``prefix``: of its gateway, ``/v3``, or ``/v3beta`` as in 3.3."""
    app = falcon.App(middleware=[member_resources.Slowness(cluster, member)])
    app.add_error_handler(falcon.HTTPError, member_resources.unknown)
    app.add_error_handler(EtcdError, member_resources.refuse)
    app.add_route("/health", member_resources.Health(cluster))
    calls = member_resources.Calls(cluster, member)
    for path, suffix in _CALLS.items():
        app.add_route(f"{prefix}/{path}", calls, suffix=suffix)
    return request_log.RequestLog(app, clock, log, also=lambda _environ: {"member": member.name})


def control_app(programs: Programs, log: EventLog) -> Application:
    """Return the WSGI application of the routes below ``/simulator``."""
    app = falcon.App()
    members = Members(programs)
    app.add_route("/simulator/members", members)
    app.add_route("/simulator/members/{name}", members, suffix="one")
    app.add_route("/simulator/alarm", Alarm(programs.cluster))
    app.add_route("/simulator/requests", control.Requests(log))
    return app


class Members:
    """The members and their states."""

    def __init__(self, programs: Programs) -> None:
        self._programs = programs

    def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Return every member of the cluster."""
        cluster = self._programs.cluster
        leader = cluster.leader
        resp.media = cluster.look(
            lambda: [one.entry() | {"state": one.state.value, "leader": one is leader} for one in cluster.members]
        )

    def on_put_one(self, req: falcon.Request, resp: falcon.Response, name: str) -> None:
        """Give a member the state of the body; one that the cluster does not have is added."""
        body = json.loads(req.bounded_stream.read() or b"{}")
        state = _WORDS.get(body.get("state", "running"))
        if state is None:
            refuse(resp, [f"state: should be one of {', '.join(_WORDS)}"])
            return
        self._programs.put(name, state, learner=body.get("learner") is True)
        resp.status = falcon.HTTP_204


class Alarm:
    """The alarm NOSPACE."""

    def __init__(self, cluster: SimulatedEtcd) -> None:
        self._cluster = cluster

    def on_put(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Raise it."""
        self._cluster.no_space = True
        resp.status = falcon.HTTP_204

    def on_delete(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Clear it."""
        self._cluster.no_space = False
        resp.status = falcon.HTTP_204
