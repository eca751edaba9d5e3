"""Peers that quote the secrets which are between them and us: what each adapter hands on has none of them."""

from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from typing import Any, NamedTuple

import pytest

from shipyard_api.adapters.deckhand.client import DeckhandClient
from shipyard_api.adapters.deckhand.design_store import DeckhandDesigns
from shipyard_api.adapters.drydock.client import DrydockClient
from shipyard_api.adapters.drydock.links import DrydockLinks
from shipyard_api.adapters.drydock.provisioner import DrydockProvisioner
from shipyard_api.adapters.ironic.client import IronicClient
from shipyard_api.adapters.ironic.provisioner import IronicProvisioner
from shipyard_api.adapters.keystone import KeystoneOptions
from shipyard_api.adapters.keystone.client import KeystoneClient
from shipyard_api.adapters.kubernetes.access import Address
from shipyard_api.adapters.kubernetes.client import KubernetesClient
from shipyard_api.adapters.kubernetes.nodes import KubernetesCluster
from shipyard_api.adapters.maas import job_tags
from shipyard_api.adapters.maas.client import MaasClient
from shipyard_api.adapters.maas.provisioner import MaasProvisioner
from shipyard_api.adapters.promenade.design_validation import PromenadeValidation
from shipyard_api.domain.documents import Revision
from shipyard_api.domain.nodes import Inventory, Node, NodeName
from shipyard_api.domain.strategy.selectors import Selector
from shipyard_api.ports.documents import RenderingFailed
from shipyard_api.ports.errors import PeerError
from shipyard_api.ports.provisioner import JobId, Marker, Operation, Work
from tests.peer import Answer, Peer
from tests.unit.adapters.deckhand.answers import fault, single

TOKEN, PASSWORD = "canary-token-Zq8", "canary-password-Zq9"
DESIGN_URL = f"deckhand+http://drydock:{PASSWORD}@shipyard:9000/{{revision}}"
DESIGN = DESIGN_URL.format(revision=3)
# Alone, in the address of ours that they stand in, and in one of others.
QUOTED = f"cannot use {TOKEN} or {PASSWORD}: {DESIGN} http://else:canary-else@elsewhere"
CUTS = (100, 400, 500, 1000, 2000, 4000)  # the lengths to which adapters cut lie near these
JOB = Marker("7f4d4d0e-3a2f-4d57-9d1b-0a51d5c0a6f3")
N1 = NodeName("n1")
INVENTORY = Inventory.of([Node(N1)])


def drydock(peer: Peer) -> DrydockProvisioner:
    client = DrydockClient(peer.url, token=lambda: TOKEN, read_pause=0.0, retry_pause=0.0)
    return DrydockProvisioner(client, design_url=DESIGN_URL)


def maas(peer: Peer) -> MaasProvisioner:
    peer.on("GET /users/", Answer(200, {"username": "shipyard", "is_superuser": False}))
    peer.on("GET /version/", Answer(200, {"version": "3.5"}))
    client = MaasClient(peer.url, api_key=f"consumer:{TOKEN}:{PASSWORD}", read_pause=0.0)
    return MaasProvisioner(client, lambda _: INVENTORY)


def ironic(peer: Peer, **credentials: Any) -> IronicProvisioner:
    ends = {"minimum": "1.1", "maximum": "1.95"}
    headers = {f"X-OpenStack-Ironic-API-{end.title()}-Version": version for end, version in ends.items()}
    peer.on("GET /v1", Answer(200, {}, headers))
    client = IronicClient(peer.url, read_pause=0.0, **(credentials or {"token": lambda: TOKEN}))
    client.scrubber.hide(PASSWORD)  # as of its Keystone
    return IronicProvisioner(client, lambda _: INVENTORY, sleep=lambda _: None)


def deckhand(peer: Peer) -> DeckhandDesigns:
    client = DeckhandClient(peer.url, token=lambda: TOKEN, read_pause=0.0)
    client.scrubber.hide(PASSWORD)
    return DeckhandDesigns(client, b"key")


def promenade(peer: Peer) -> PromenadeValidation:
    return PromenadeValidation(peer.url, token=lambda: TOKEN)


def kubernetes(peer: Peer) -> KubernetesClient:
    client = KubernetesClient(Address(peer.url, token=TOKEN), first_pause=0.0)
    client.scrubber.hide(PASSWORD)
    return client


def readiness(client: KubernetesClient) -> object:
    with closing(client):
        return KubernetesCluster(client).readiness([N1])


def keystone(peer: Peer) -> KeystoneClient:
    return KeystoneClient(KeystoneOptions(auth_url=peer.url, user="u", password=PASSWORD, project="service"))


def work(operation: Operation = Operation.DEPLOY_NODES) -> Work:
    on_site = operation in (Operation.VERIFY_SITE, Operation.PREPARE_SITE)
    return Work(operation, DESIGN, None if on_site else (N1,))


def status(text: str) -> dict[str, Any]:
    """What validates a design says so."""
    told = {"name": text, "message": text, "diagnostic": text, "error": True, "documents": [{"name": text}]}
    return {"kind": "Status", "status": text, "details": {"messageList": [told], "errorCount": 1}}


def said(text: str) -> dict[str, Any]:
    """An error as Drydock tells it."""
    return {"type": "error", "message": text, "retry": False}


def task(text: str) -> Answer:
    told = {"message": text, "error": True, "context_type": "node", "context": "n1", "ts": "1"}
    details = {"messageList": [told, told | {"context_type": "site"}]}
    result = {"status": "failure", "message": text, "reason": text, "failures": ["n1"], "details": details}
    return Answer(
        200, {"task_id": JOB, "design_ref": DESIGN, "status": "complete", "result": result, "subtask_errors": {}}
    )


def machines(text: str) -> Answer:
    described = {"system_id": "a", "hostname": "n1", "status": 11, "status_name": text, "owner": "shipyard"}
    return Answer(200, [described | {"status_message": text, "error_description": text, "tag_names": []}])


def tags(operation: Operation = Operation.DEPLOY_NODES) -> Answer:
    """The tag that MAAS keeps of a job."""
    comment = job_tags.record_text(work(operation), datetime.now(UTC))
    return Answer(200, [{"name": job_tags.job_tag(JOB), "comment": comment}])


def failed_node(text: str) -> Answer:
    mark = {"shipyard": {"marker": JOB, "operation": "deploy_nodes"}}
    node = {"uuid": "u", "name": "n1", "provision_state": "deploy failed", "last_error": text, "extra": mark}
    return Answer(200, {"nodes": [node]})


def cluster_node(**node: Any) -> Answer:
    return Answer(200, {"kind": "NodeList", "items": [{"metadata": {"name": "n1"}, **node}]})


def unready(text: str) -> dict[str, Any]:
    return {"conditions": [{"type": "Ready", "status": "False", "reason": "NotReady", "message": text}]}


def unrendered(text: str) -> Answer:
    told = {"name": text, "message": text, "diagnostic": text, "error_section": text, "path": text, "error": True}
    return fault(400, "InvalidThing", text, told)


def validated(text: str) -> Answer:
    failure = {"status": "failure", "name": text, "errors": [{"message": text, "path": text}, text]}
    return single({"results": [failure]})


def denied(text: str) -> dict[str, Any]:
    """An error of Keystone, which has seen no token of ours."""
    return {"error": {"message": text.replace(TOKEN, "")}}


class Case(NamedTuple):
    """Who is asked for what, and what the peer answers to each request if it is made to say a text."""

    make: Callable[[Peer], Any]
    ask: Callable[[Any], object]
    answers: Callable[[str], dict[str, Answer | tuple[Answer, ...]]]


def submit(asked: Any) -> object:
    return asked.submit(JOB, work())


def judge(asked: Any) -> object:
    return asked.validate_design(DESIGN)


def report(asked: Any) -> object:
    return asked.report(JobId(JOB), work())


def conditions(asked: Any) -> object:
    return asked.conditions()


def check(asked: Any) -> object:
    return asked.check_health()


TASK, VALIDATE, NODES = f"GET /tasks/{JOB}", "POST /validatedesign", "GET /api/v1/nodes"
CASES = {
    "drydock refuses a task": Case(drydock, submit, lambda text: {"POST /tasks": Answer(400, said(text))}),
    "drydock breaks over a task": Case(drydock, submit, lambda text: {"POST /tasks": Answer(500, said(text))}),
    "drydock is ill": Case(drydock, check, lambda text: {"GET /health": Answer(400, said(text))}),
    "drydock judges a design": Case(drydock, judge, lambda text: {VALIDATE: Answer(400, status(text))}),
    "drydock judges without details": Case(
        drydock, judge, lambda text: {VALIDATE: Answer(400, {"kind": "Status", "message": text, "reason": text})}
    ),
    "drydock judges without messages": Case(
        drydock,
        judge,
        lambda text: {VALIDATE: Answer(400, {"kind": "Status", "message": text, "reason": text, "details": {}})},
    ),
    "drydock cannot fetch a design": Case(
        drydock, judge, lambda text: {VALIDATE: Answer(500, said(f"no attribute {text}"))}
    ),
    "drydock cannot read a design": Case(
        drydock,
        lambda asked: asked.select_nodes(DESIGN, [(Selector(),)]),
        lambda _text: {"POST /nodefilter": Answer(200, [])},
    ),
    "drydock shows machines": Case(
        drydock,
        conditions,
        lambda text: {"GET /nodes": Answer(200, [{"hostname": "n1", "status_name": text, "power_state": text}])},
    ),
    "drydock shows no machines": Case(drydock, conditions, lambda text: {"GET /nodes": Answer(403, said(text))}),
    "drydock ends a job": Case(drydock, report, lambda text: {TASK: task(text)}),
    "drydock ends a job and does not say why": Case(
        drydock, report, lambda text: {TASK: (task(text), Answer(400, said(text)))}
    ),
    "drydock shows something else": Case(drydock, report, lambda text: {TASK: Answer(200, {"status": text})}),
    "drydock keeps what a note leads to": Case(
        lambda peer: (peer, DrydockLinks(peer.url, token=lambda: TOKEN, design_url=DESIGN_URL)),
        lambda asked: asked[1].fetch(f"{asked[0].url}/tasks/{JOB}"),
        lambda text: {TASK: task(text)},
    ),
    "maas refuses": Case(maas, check, lambda text: {"GET /users/": Answer(400, text)}),
    "maas refuses fields": Case(maas, conditions, lambda text: {"GET /machines/": Answer(400, {"hostname": [text]})}),
    "maas shows machines": Case(maas, conditions, lambda text: {"GET /machines/": machines(text)}),
    "maas ends a job": Case(
        maas,
        report,
        lambda text: {
            "GET /tags/": tags(),
            "GET /machines/": machines(text),
            "GET /events/": Answer(200, {"events": [{"level": "ERROR", "created": "now", "description": text}]}),
        },
    ),
    "maas verifies a site": Case(
        maas,
        lambda asked: asked.report(JobId(JOB), work(Operation.VERIFY_SITE)),
        lambda text: {
            "GET /tags/": tags(Operation.VERIFY_SITE),
            "GET /users/": Answer(200, {"username": text, "is_superuser": False}),
            "GET /boot-resources/": Answer(200, []),
            "GET /rackcontrollers/": Answer(200, []),
        },
    ),
    "ironic refuses": Case(ironic, conditions, lambda text: {"GET /v1/nodes": Answer(403, {"error_message": text})}),
    "ironic refuses a user with a password": Case(
        lambda peer: ironic(peer, basic=("drydock", PASSWORD)),
        conditions,
        lambda text: {"GET /v1/nodes": Answer(403, {"error_message": {"faultstring": text.replace(TOKEN, "")}})},
    ),
    "ironic shows nodes": Case(
        ironic,
        conditions,
        lambda text: {"GET /v1/nodes": Answer(200, {"nodes": [{"name": "n1", "provision_state": text}]})},
    ),
    "ironic ends a job": Case(ironic, report, lambda text: {"GET /v1/nodes": failed_node(text)}),
    "ironic verifies a site": Case(
        ironic,
        lambda asked: asked.report(JobId(f"verify_site:{JOB}"), work(Operation.VERIFY_SITE)),
        lambda text: {"GET /v1/conductors": Answer(200, {"conductors": [{"hostname": text, "alive": False}]})},
    ),
    "deckhand refuses": Case(
        deckhand, lambda asked: asked.heads(), lambda text: {"GET /revisions": fault(400, "X", text)}
    ),
    "deckhand cannot render": Case(
        deckhand,
        lambda asked: asked.rendered(Revision(1)),
        lambda text: {
            "GET /revisions/1/documents": Answer(200, b""),
            "GET /revisions/1/rendered-documents": unrendered(text),
        },
    ),
    "deckhand was told of failures": Case(
        deckhand,
        lambda asked: asked.findings(Revision(1)),
        lambda text: {
            "GET /revisions/1/documents": Answer(200, b""),
            "GET /revisions/1/validations/detail": validated(text),
        },
    ),
    "promenade judges a design": Case(promenade, judge, lambda text: {VALIDATE: Answer(400, status(text))}),
    "promenade judges without details": Case(promenade, judge, lambda text: {VALIDATE: Answer(400, {"message": text})}),
    "kubernetes refuses": Case(
        kubernetes, readiness, lambda text: {NODES: Answer(403, {"kind": "Status", "message": text})}
    ),
    "kubernetes shows something else": Case(kubernetes, readiness, lambda text: {NODES: Answer(200, {"kind": text})}),
    "kubernetes shows a node": Case(kubernetes, readiness, lambda text: {NODES: cluster_node(status=unready(text))}),
    "kubernetes shows a node that leaves": Case(
        kubernetes,
        readiness,
        lambda text: {NODES: cluster_node(metadata={"name": "n1", "deletionTimestamp": text})},
    ),
    "keystone refuses": Case(
        keystone, lambda asked: asked.grant(), lambda text: {"POST /v3/auth/tokens": Answer(401, denied(text))}
    ),
    "keystone is broken": Case(
        keystone, lambda asked: asked.grant(), lambda text: {"POST /v3/auth/tokens": Answer(500, denied(text))}
    ),
}
# These show nothing of what the peer says.
SILENT = {"drydock cannot read a design", "drydock shows something else"}


def told(case: Case, peer: Peer, text: str) -> str:
    asked = case.make(peer)
    for route, answers in case.answers(text).items():
        peer.on(route, *(answers if isinstance(answers, tuple) else (answers,)))
    try:
        return repr(case.ask(asked))
    except RenderingFailed as failed:
        return repr(failed.findings)
    except PeerError as trouble:
        return f"{trouble} {trouble.detail}"


@pytest.mark.parametrize("name", CASES)
def test_no_secret_of_ours_is_handed_on_and_no_half_of_one_where_a_text_is_cut(peer: Peer, name: str) -> None:
    handed_on = told(CASES[name], peer, QUOTED)
    assert "canary" not in handed_on
    assert name in SILENT or ("cannot use" in handed_on and "***" in handed_on)
    for step in (5, 25):
        text = ""
        for cut in CUTS:
            text += f"{'w ' * ((cut - step - len(text)) // 2)}{TOKEN} {PASSWORD} "
        assert "cana" not in told(CASES[name], peer, text), step
