"""A row played: Shipyard's API and worker in this process, wired by ``bootstrap``, before simulators of all peers."""

from __future__ import annotations

import dataclasses
import json
import random
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from typing import Any
from unittest.mock import patch
from urllib.request import Request, urlopen

import yaml
from falcon.testing import Result
from msgspec.structs import replace

from shipyard_api.actions.site_checks import RemoteAccess
from shipyard_api.adapters.deckhand import DeckhandOptions
from shipyard_api.adapters.drydock import DrydockOptions
from shipyard_api.adapters.encryption import EncryptionOptions
from shipyard_api.adapters.encryption.fernet import new_key
from shipyard_api.adapters.identity import IdentityOptions
from shipyard_api.adapters.kubernetes import KubernetesOptions
from shipyard_api.adapters.promenade import PromenadeOptions
from shipyard_api.domain.actions import ENDED, ActionId, Control, RunState
from shipyard_api.domain.documents import Revision
from shipyard_api.domain.hardware.expected import SCHEMA as EXPECTED_HARDWARE
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.task_graph.layers import SITE, Layer, ReleaseId
from shipyard_api.domain.teardown.etcd_documents import ETCD_CLUSTERS, GENESIS
from shipyard_api.programs import launch
from shipyard_api.settings.plugins import EMBEDDED, DesignStoreName
from shipyard_api.settings.types import Count, HeaderSecret, Secret
from shipyard_api.storage.connections import ConnectionWatchdog
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.usecases.journal.follow import FollowJournal, as_fields
from shipyard_api.usecases.stragglers import WatchStragglers
from shipyard_api.wiring import bootstrap, parts
from shipyard_api.wiring.settings import ApiOptions, DatabaseOptions, DesignStoreOptions, Settings, load
from shipyard_api.workflow.turn import Engine
from shipyard_api.yaml_stream import write_documents
from shipyard_simulators.deckhand.simulator import DeckhandSimulator
from shipyard_simulators.etcd.simulator import EtcdSimulator
from shipyard_simulators.kubernetes.manifests import ordinary
from shipyard_simulators.kubernetes.simulator import KubernetesSimulator
from shipyard_simulators.promenade.simulator import PromenadeSimulator
from shipyard_simulators.promenade.site import Outcome
from tests import run_histories
from tests.combinations.budgets import budget_of, kept_pod
from tests.combinations.hosts import COMMANDS, GRAPH, Hosts, addresses
from tests.combinations.model import TARGETED, Row
from tests.databases import empty
from tests.factories import document, group_entry, layering_policy, node_document, strategy_document
from tests.integration.api.in_process import Client
from tests.near_peers import near, near_members
from tests.one_action import control, seconds_until_due, state_of
from tests.simulated_peers import PEERS, Peer, scenario
from tests.virtual_time import VirtualClock
from tests.world import SETTLE

NODES = ("n1", "n2", "n3")
MEMBERS = ("n1", "n2", "n3", "x1", "x2", "x3", "x4")
DURATIONS = {
    "prepare_nodes": 40,
    "deploy_nodes": 40,
    "join_nodes": 20,
    "ready_nodes": 20,
    "stop_pods": 3,
    "stop_kubelet": 4,
    "lose_nodes": 4,
}
API = "/api/v1.0"
MODEL = "simulated"
MEMORY = {"drydock": "8 GiB", "maas": "128 GiB", "ironic": "32 GiB"}  # of a simulated server
AFTERWARDS = 4000.0  # seconds in which all that goes on at a peer ends

TEMPLATE = "CUSTOM_BIOS"
STEPS = ("factory_reset", "apply_configuration")
BIOS = {
    "name": TEMPLATE,
    "steps": [
        {"interface": "bios", "step": STEPS[0], "args": {}, "priority": 120},
        {"interface": "bios", "step": STEPS[1], "args": {"settings": [{"name": "vt", "value": "on"}]}, "priority": 110},
    ],
}

TIMEOUT, CHANGED = 40, 60  # seconds that a drain may take, at first and after a change of limits

PIPELINES: Mapping[str, Mapping[str, Any]] = {
    "serial": {},
    "parallel": {"max_parallel_groups": 3},
    "as_prepared": {"deploy_as_prepared": True, "max_parallel_groups": 2},
    "in_flight": {"max_nodes_in_flight": 2, "max_parallel_groups": 2},
}
OPEN_MINUTES = 20
POLICIES: Mapping[str, Mapping[str, Any]] = {
    "none": {},
    "canary": {"policy": {"waves": [{"name": "canary", "nodes": 1, "gates": [{"soak": 60}]}]}},
    "one": {"policy": {"budgets": [{"name": "site", "max_unavailable": 1}]}},
    "window": {
        "policy": {
            "windows": {
                "open": [{"zone": "UTC", "start": f"{hour:02}:00", "minutes": OPEN_MINUTES} for hour in range(24)],
                "durations": {"prepare": 1, "deploy": 1},
            }
        }
    },
}
GROUPS: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "one": [group_entry("all", critical=True, selectors=[{"node_names": list(NODES)}])],
    "several": [
        group_entry("first", critical=True, selectors=[{"node_names": ["n1"]}]),
        group_entry("second", depends_on=["first"], selectors=[{"node_names": ["n2"]}]),
        group_entry("third", selectors=[{"node_names": ["n3"]}]),
    ],
    "shared": [
        group_entry("left", critical=True, selectors=[{"node_names": list(NODES)}]),
        group_entry("right", selectors=[{"node_names": ["n1", "n2"]}]),
    ],
    "lenient": [
        group_entry(
            "most",
            critical=True,
            selectors=[{"node_names": list(NODES)}],
            success_criteria={"maximum_failed_nodes": 1, "minimum_successful_nodes": 1},
        )
    ],
}
for _group in (group for name in ("one", "several", "shared") for group in GROUPS[name]):
    _group["success_criteria"] = {"percent_successful_nodes": 100}  # type: ignore[index]  # built here

# The rows of a process use one database, and what SQLAlchemy has compiled for it.
_connect, _connect_readers = cache(parts.connect), cache(parts.connect_readers)


def targets_of(row: Row) -> Sequence[str]:
    """Return the nodes that the action of the row is about."""
    return NODES[: int(row["targets"])] if row["action"] in TARGETED else NODES


def failing(row: Row) -> Sequence[str]:
    """Return the targets that fail in this row."""
    targets = targets_of(row)
    return {"none": (), "first": targets[:1], "last": targets[-1:], "all": targets}[row["fails"]]


def removed_of(row: Row) -> Sequence[str]:
    """Return the nodes that the action takes down for good since they have left the design."""
    return NODES[-1:] if row["on_removed"] == "remove" else ()


def reason_of(node: str) -> str:
    """Return the reason that a peer gives for the failure of this node, and of no other."""
    return f"{node} broke its own disk"


class Site:
    """All that a row needs, with its site deployed unless the row deploys it.

    ``names``: the nodes of its design. ``of_etcd``: the members of its etcd cluster, some of which run on nodes.
    """

    names: Sequence[str] = NODES
    of_etcd: Sequence[str] = MEMBERS

    def __init__(self, url: str, row: Row) -> None:
        self.row, self.cleanup = row, ExitStack()
        self.clock = self.new_clock(url)
        self.actions: list[ActionId] = []
        self.answers: list[tuple[str, Any]] = []
        try:
            self._begin(url)
        except BaseException:
            self.close()
            raise

    def new_clock(self, url: str) -> VirtualClock:
        """Return the time of the site, whose database is emptied."""
        empty(url)
        return VirtualClock()

    def new_peer(self) -> Peer:
        """Return the provisioner of the site."""
        return PEERS[self.row["provisioner"]](self.clock, self.scenario({}), self.names)

    def _begin(self, url: str) -> None:
        row, enter = self.row, self.cleanup.enter_context
        random.seed(0)  # what adapters leave to chance
        self.peer = self.new_peer()
        self.cleanup.callback(self.peer.close)
        self.apiserver: KubernetesSimulator | None = None
        self.members: EtcdSimulator | None = None
        if row["cluster"] == "kubernetes":
            simulator = KubernetesSimulator(self.scenario({}), clock=self.clock.of_peers())
            self.apiserver = enter(near(simulator))
        if row["etcd"] == "members":
            self.members = enter(near_members(EtcdSimulator(names=self.of_etcd, clock=self.clock.of_peers())))
        self.promenade: PromenadeSimulator | None = None
        if row["cluster"] == "promenade":
            self.promenade = enter(near(PromenadeSimulator(self.scenario({}), clock=self.clock.of_peers())))
        self.deckhand: DeckhandSimulator | None = None
        if row["store"] == "deckhand":
            self.deckhand = enter(near(DeckhandSimulator(clock=self.clock.of_peers())))
        self.hosts = Hosts(polls=1)
        self._ended = 0
        self._away: set[str] = set()  # machines that join no cluster, however well they are deployed
        self._stay_away: set[str] = set()
        self._wire(url)

    def scenario(self, fates: Mapping[str, Any]) -> Any:
        return scenario(fates, DURATIONS)

    def play(self, fates: Mapping[str, Mapping[str, Any]]) -> None:
        """Let the provisioner treat these nodes so from now on, and all others well."""
        body = yaml.safe_dump({"nodes": fates, "durations": DURATIONS}).encode()
        with urlopen(Request(f"{self.peer.url}/simulator/scenario", body, {"X-Auth-Token": "any"}, method="POST")):
            pass

    def task_graph(self) -> None:
        """Give the site a task graph, and each node its role in it."""
        with self.store.begin() as tx:
            release = tx.software.release(ReleaseId(1))
            assert release
            tx.software.save_release(replace(release, layer=Layer(GRAPH)))
            tx.software.add_nodes(SITE, map(NodeName, self.names))
            for one in tx.software.nodes(SITE):
                tx.software.save_node(replace(one, roles=("web",)))

    def fail_task(self) -> None:
        """Let the last task fail on a node, if the row says so."""
        if self.row["software"] in ("first", "last"):
            node = NODES[0] if self.row["software"] == "first" else NODES[-1]
            self.hosts.failing = {(COMMANDS[-1], NodeName(node))}

    def fail(self, nodes: Sequence[str]) -> None:
        """Let the phase of the row fail for these nodes from now on."""
        phase = self.row["phase"]
        if word := self.peer.words.get(phase):
            name = "service" if self.row["action"] == "service_server" else word
            self.play({node: {name: "fail", "reason": reason_of(node)} for node in nodes})
        elif phase == "join":
            self._stay_away = set(nodes)
        elif self.promenade and nodes:
            text = "; ".join(map(reason_of, nodes))
            self.promenade.site.outcomes["drain"] = Outcome(failures=(text,), nodes=frozenset(nodes))
        elif self.apiserver:
            self.apiserver.add(*(one for node in nodes for one in kept_pod(node, for_ever=phase == "budget")))

    def cure(self) -> None:
        """Let nothing fail any more."""
        self.play({})
        self.hosts.failing = set()
        if self.promenade:
            self.promenade.site.outcomes.clear()
        self._stay_away = set()
        self._let_join()
        if self.apiserver and self.row["phase"] in ("drain", "budget"):
            for node in failing(self.row):
                path = f"/apis/policy/v1/namespaces/default/poddisruptionbudgets/{budget_of(node)}"
                with urlopen(Request(self.apiserver.url + path, method="DELETE")):
                    pass

    def _wire(self, url: str) -> None:
        self.settings = settings = Settings(
            database=DatabaseOptions(url=Secret(url), pool_size=3),
            of_plugins={
                "drydock": DrydockOptions(url="http://127.0.0.1:9", design_url="http://127.0.0.1:9/{revision}"),
                "deckhand": DeckhandOptions(
                    url=f"{self.deckhand.url}{API}" if self.deckhand else "", token=HeaderSecret("any")
                ),
            },
            kubernetes=KubernetesOptions(url=self.apiserver.url if self.apiserver else ""),
            promenade=PromenadeOptions(
                url=f"{self.promenade.url}{API}" if self.promenade else "", teardown=self.promenade is not None
            ),
            designs=DesignStoreOptions(store=DesignStoreName("deckhand" if self.deckhand else EMBEDDED)),
            secrets=EncryptionOptions(keys=Secret(new_key())),
            api=ApiOptions(writes_per_minute=Count(0)),
            identity=IdentityOptions(token_cache_seconds=0),  # no statement may depend on real time
        )
        engines = {"connect": _connect, "connect_readers": _connect_readers}
        with patch.object(ConnectionWatchdog, "watch"), patch.multiple(parts, **engines):
            self.made = self.joined(parts.build(settings))
        self.store: Store = self.made.store
        self.database = self.store._engine
        self.history = run_histories.in_virtual_time(self.database)
        self.cleanup.callback(self.database.dispose)
        tokens = launch.tokens(load({"DATABASE_URL": url}))
        self._tokens = tokens
        with patch.object(parts, "build", lambda *_: self.made):
            self._app = bootstrap.api(settings)
        self.client = self.caller("tester")
        self.engine = Engine(self.store, parts.definitions(self.made), self.clock, settle=SETTLE, worker="worker")

    def joined(self, made: parts.Parts) -> parts.Parts:
        """Return these parts with the simulated provisioner, and the machines of tasks."""
        provisioner = self.peer.provisioner(lambda revision: made.rendered.inventory(Revision(revision)))
        rules = replace(made.rules, limits=provisioner.capabilities.limits, now=self.clock.now)
        return dataclasses.replace(
            made, provisioner=provisioner, rules=rules, access=RemoteAccess(self.hosts, addresses)
        )

    def caller(self, name: str, roles: str = "admin") -> Client:
        """Return a client of the API with a token of its own."""
        _, token = self._tokens.create(name, roles)
        return Client(self._app, headers={"X-Auth-Token": token})

    # What an operator does.

    def ask(self, method: str, path: str, body: Any = None, *, expect: int | None = None) -> Result:
        """Send a request to the API; ``expect``: the only right status."""
        headers, sent = {}, None
        if isinstance(body, bytes):
            headers, sent = {"Content-Type": "application/x-yaml"}, body
        elif body is not None:
            headers, sent = {"Content-Type": "application/json"}, json.dumps(body)
        answer = self.client.simulate_request(method, f"{API}{path}", body=sent, headers=headers)
        assert expect in (None, answer.status_code), f"{method} {path}: {answer.status_code} {answer.text}"
        assert answer.status_code < 500, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer

    def get(self, path: str) -> Any:
        return self.ask("GET", path, expect=200).json

    def keep_template(self) -> None:
        """Keep the deploy template of the site, as Ironic's own clients do."""
        headers = {"Content-Type": "application/json", "X-OpenStack-Ironic-API-Version": "1.55"}
        answer = self.client.simulate_post("/v1/deploy_templates", body=json.dumps(BIOS), headers=headers)
        assert answer.status_code == 201, answer.text

    def change(self) -> None:
        """Put the design of an update of the site into force: what changes is said where its options are."""
        newer = self.documents({"newer": "yes"})
        if self.row["on_change"] == "least":
            patch = [{"op": "replace", "path": "/steps/1/args/settings/0/value", "value": "off"}]
            headers = {"Content-Type": "application/json", "X-OpenStack-Ironic-API-Version": "1.55"}
            path = f"/v1/deploy_templates/{TEMPLATE}"
            answer = self.client.simulate_request("PATCH", path, body=json.dumps(patch), headers=headers)
            assert answer.status_code == 200, answer.text
        else:
            first = next(each for each in newer if each["metadata"]["name"] == NODES[0])
            first["data"]["platform"] = {"image": "noble"}
        self.put([each for each in newer if each["metadata"]["name"] not in removed_of(self.row)])

    def commit(self, **labels: str) -> None:
        """Put the design into force."""
        self.put(self.documents(labels))

    def put(self, documents: Sequence[Mapping[str, Any]]) -> None:
        """Put these documents into force."""
        for revision in range(1, 10):
            self.peer.publish(revision, documents)
        self.ask("POST", "/configdocs/design?buffermode=replace", write_documents(documents), expect=201)
        self.ask("POST", "/commitconfigdocs", expect=200)

    def documents(self, labels: Mapping[str, str]) -> list[dict[str, Any]]:
        row = self.row
        burn_in = {"burn_in": {"cpu": 20}} if row["burn_in"] == "yes" else {}
        hardware = {"hardware": "fail"} if row["hardware"] == "right" else {}
        provisioner = {**PIPELINES[row["pipeline"]], **POLICIES[row["policy"]], **burn_in, **hardware}
        configuration = {
            "armada": {"manifest": "full-site"},
            "physical_provisioner": provisioner,
            "kubernetes": {"node_status_interval": 30, "node_status_timeout": 120},
        }
        model = {"hardware_profile": MODEL} if hardware else {}
        nodes = [node_document(name, labels={"rack": f"r-{name}", **labels}, **model) for name in NODES]
        further = []
        if hardware:
            memory = {"size": MEMORY[row["provisioner"]]}
            further.append(document(EXPECTED_HARDWARE, "servers", {"hardware_profiles": [MODEL], "memory": memory}))
        if self.members:
            etcd = {"name": "kubernetes-etcd", "endpoints": list(self.members.endpoints)}
            further.append(document(ETCD_CLUSTERS, "etcd-clusters", {"clusters": [etcd]}))
        if self.apiserver:
            further.append(document(GENESIS, "genesis", {"hostname": "n0"}))
        if row["templates"] == "requested":
            traits = {
                "selectors": [{"node_names": list(NODES)}],
                "traits": [TEMPLATE],
                "requested_traits": [TEMPLATE],
            }
            further.append(document("shipyard/NodeTraits/v1", "all", traits))
        return [
            layering_policy(),
            *nodes,
            strategy_document(*GROUPS[row["groups"]]),
            document("shipyard/DeploymentConfiguration/v1", "deployment-configuration", configuration),
            *further,
        ]

    def plan(self, body: Mapping[str, Any], *, force: bool = False) -> Any:
        """Return the plan of an action or of a retry."""
        return self.ask("POST", f"/plans?force={str(force).lower()}", dict(body), expect=200).json

    def approved_plan(self, body: Mapping[str, Any]) -> str:
        """Store the plan of an action, let a second person approve it, and return its id."""
        plan = self.ask("POST", "/plans?store=true", dict(body), expect=201).json
        path, signed = f"{API}/plans/{plan['id']}/approvals", json.dumps({"hash": plan["hash"], "reason": "read"})
        headers = {"Content-Type": "application/json"}
        answer = self.caller("second").simulate_post(path, body=signed, headers=headers)
        assert answer.status_code == 200, answer.text
        return str(plan["id"])

    def create(self, name: str, parameters: Mapping[str, Any], *, plan: str = "") -> Result:
        """Create an action, from a stored plan if one is given; it is the one that ``run`` works on."""
        body = {"name": name, "parameters": dict(parameters)}
        answer = self.ask("POST", f"/actions?plan={plan}" if plan else "/actions", body)
        if answer.status_code == 201:
            self.actions.append(ActionId(answer.json["id"]))
            self._make_due()
        return answer

    def retry(self, *, force: bool = False) -> Result:
        """Retry the newest action."""
        path = f"/actions/{self.action}/control/retry"
        answer = self.ask("POST", f"{path}?force=true" if force else path)
        if answer.status_code in (200, 201, 202):
            self.actions.append(ActionId(answer.json["id"] if answer.json else self._newest()))
            self._make_due()
        return answer

    def _newest(self) -> str:
        return str(max(self.get("/actions"), key=lambda action: action["id"])["id"])

    @property
    def action(self) -> ActionId:
        return self.actions[-1]

    def state(self) -> RunState:
        return state_of(self.store, self.action)

    def control(self, what: Control | str) -> None:
        """Pause, resume or stop the action, or do what else the row does in the middle of it."""
        if isinstance(what, Control):
            control(self.store, self.database, self.action, what, self.clock.now())
        elif what == "limits":
            self.ask("PATCH", f"/actions/{self.action}/limits", {"drain-timeout": CHANGED}, expect=200)
            self._make_due()
        else:
            self.ask("POST", f"/actions/{self.action}/control/retry", expect=409)

    def _make_due(self) -> None:
        # The database's clock runs, and the site's stands still.
        with self.database.begin() as connection:
            connection.exec_driver_sql("UPDATE actions SET wake_at = %s WHERE wake_at IS NOT NULL", (self.clock.now(),))

    def run(self, controls: Mapping[int, Control | str] | None = None) -> None:
        """Deliver turns and runs of items, each when it is due, until the action has ended."""
        ahead = dict(controls or {})
        for number in range(1500):
            if number in ahead:
                self.control(ahead.pop(number))
            self.engine.run(self.action)
            self.engine.items.run(self.action, "run-1")
            self._let_join()
            if self.state() in ENDED:
                return
            self.clock.advance(seconds_until_due(self.database, self.action, self.clock.now()))
        raise AssertionError(f"the action does not end\n{self.journal()}")

    def _let_join(self) -> None:
        """A machine that is deployed becomes a node of the cluster."""
        deployed = [one for one in self.peer.ended() if one.phase == "deploy" and one.ok]
        self._away |= {one.node for one in deployed[self._ended :]}
        for name in sorted(self._away - self._stay_away):
            if self.apiserver:
                self.apiserver.join(name)
            if self.promenade:
                self.promenade.site.join(name)
        self._away &= self._stay_away
        self._ended = len(deployed)

    def populate(self) -> None:
        """Let ordinary pods run in the cluster."""
        if self.apiserver:
            self.apiserver.add(*ordinary(len(self.names)))
            self.clock.advance(60)

    def settle(self) -> None:
        """Let whatever goes on at the peer after the action come to its end, and Shipyard learn of it."""
        self.clock.advance(AFTERWARDS)
        WatchStragglers(self.store, self.made.provisioner, self.clock.now, 30.0, "watcher")()

    # What can be seen afterwards.

    def may_be_retried(self) -> bool:
        """Return whether the action failed, or tolerates that some of its nodes did."""
        nodes = self.get(f"/actions/{self.action}/nodes")["nodes"]
        return self.state() is RunState.FAILED or any(node["status"] == "failure" for node in nodes)

    def finished(self) -> frozenset[tuple[str, str]]:
        """Return the tasks that have run well, each with its node, since the site was brought where the row begins."""
        return frozenset(self.hosts.done)

    def cluster_events(self) -> list[dict[str, Any]]:
        """Return the log of the cluster's API server, empty without one."""
        return self.apiserver.events() if self.apiserver else []

    def touched(self) -> tuple[int, int]:
        """Return how much was begun at the provisioner, and how much was changed in the cluster."""
        asked = [one for one in self.cluster_events() if one.get("method", "GET") not in ("GET", "HEAD")]
        return len(self.peer.begun()) + len(self.peer.destroyed()), len(asked)

    def events(self) -> list[dict[str, Any]]:
        """Return the events of the newest action, as the event stream sends them."""
        follow = FollowJournal(self.store)
        until, after, found = follow.ends().last, 0, []
        while True:
            page = follow.page(after, until, self.action)
            found += [as_fields(one) for one in page.entries]
            if not page.entries:
                return found
            after = page.until

    def journal(self) -> str:
        """Return the events of the newest action, a line each."""
        return "\n".join(f"{one['at']} {one['step']} {one['kind']} {one['text']}" for one in self.events())

    def breaches(self, name: str) -> list[str]:
        """Return the rules that the history of all actions breaks, by the checker that anyone can run."""
        peers = {self.peer.name: self.peer.events(), "kubernetes": self.cluster_events()}
        header = {"made_by": "combinations", "provisioner": self.peer.name, "settle": SETTLE}
        return run_histories.breaches(name, self.history, self.clock.now(), peers, **header)

    def close(self) -> None:
        self.cleanup.close()
