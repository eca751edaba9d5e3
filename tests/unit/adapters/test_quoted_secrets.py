"""Peers that quote the secrets which are between them and us: what each adapter hands on has none of them."""

from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

import pytest

from shipyard_api.adapters.deckhand.client import DeckhandClient
from shipyard_api.adapters.deckhand.design_store import DeckhandDesigns
from shipyard_api.adapters.drydock.client import DrydockClient
from shipyard_api.adapters.drydock.links import DrydockLinks
from shipyard_api.adapters.drydock.provisioner import DrydockProvisioner
from shipyard_api.adapters.ironic.client import IronicClient
from shipyard_api.adapters.ironic.provisioner import IronicProvisioner
from shipyard_api.adapters.keystone.client import KeystoneClient
from shipyard_api.adapters.keystone.options import KeystoneOptions
from shipyard_api.adapters.kubernetes.access import Address
from shipyard_api.adapters.kubernetes.client import KubernetesClient
from shipyard_api.adapters.kubernetes.cluster import KubernetesCluster
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


def ready(peer: Peer, item: dict[str, Any]) -> object:
    peer.on("GET /api/v1/nodes", Answer(200, {"kind": "NodeList", "items": [item]}))
    return _readiness(peer)


def _readiness(peer: Peer) -> object:
    with closing(KubernetesClient(Address(peer.url, token=TOKEN), first_pause=0.0)) as client:
        client.scrubber.hide(PASSWORD)
        return KubernetesCluster(client).readiness([N1])


def grant(peer: Peer) -> object:
    options = KeystoneOptions(auth_url=peer.url, user="u", password=PASSWORD, project="service")
    return KeystoneClient(options).grant()


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


# What a peer is made to say, and what is asked then; what comes of it is returned, or raised as a PeerError.


def drydock_refuses_a_task(peer: Peer, text: str) -> object:
    peer.on("POST /tasks", Answer(400, said(text)))
    return drydock(peer).submit(JOB, work())


def drydock_breaks_over_a_task(peer: Peer, text: str) -> object:
    peer.on("POST /tasks", Answer(500, said(text)))
    return drydock(peer).submit(JOB, work())


def drydock_is_ill(peer: Peer, text: str) -> object:
    peer.on("GET /health", Answer(400, said(text)))
    return drydock(peer).check_health()


def drydock_judges_a_design(peer: Peer, text: str) -> object:
    peer.on("POST /validatedesign", Answer(400, status(text)))
    return drydock(peer).validate_design(DESIGN)


def drydock_judges_without_details(peer: Peer, text: str) -> object:
    peer.on("POST /validatedesign", Answer(400, {"kind": "Status", "message": text, "reason": text}))
    return drydock(peer).validate_design(DESIGN)


def drydock_judges_without_messages(peer: Peer, text: str) -> object:
    peer.on("POST /validatedesign", Answer(400, {"kind": "Status", "message": text, "reason": text, "details": {}}))
    return drydock(peer).validate_design(DESIGN)


def drydock_cannot_fetch_a_design(peer: Peer, text: str) -> object:
    peer.on("POST /validatedesign", Answer(500, said(f"no attribute {text}")))
    return drydock(peer).validate_design(DESIGN)


def drydock_cannot_read_a_design(peer: Peer, _text: str) -> object:
    peer.on("POST /nodefilter", Answer(200, []))
    return drydock(peer).select_nodes(DESIGN, [(Selector(),)])


def drydock_shows_machines(peer: Peer, text: str) -> object:
    peer.on("GET /nodes", Answer(200, [{"hostname": "n1", "status_name": text, "power_state": text}]))
    return drydock(peer).conditions()


def drydock_shows_no_machines(peer: Peer, text: str) -> object:
    peer.on("GET /nodes", Answer(403, said(text)))
    return drydock(peer).conditions()


def task(text: str) -> dict[str, Any]:
    told = {"message": text, "error": True, "context_type": "node", "context": "n1", "ts": "1"}
    details = {"messageList": [told, told | {"context_type": "site"}]}
    result = {"status": "failure", "message": text, "reason": text, "failures": ["n1"], "details": details}
    return {"task_id": JOB, "design_ref": DESIGN, "status": "complete", "result": result, "subtask_errors": {}}


def drydock_ends_a_job(peer: Peer, text: str) -> object:
    peer.on(f"GET /tasks/{JOB}", Answer(200, task(text)))
    return drydock(peer).report(JobId(JOB), work())


def drydock_ends_a_job_and_does_not_say_why(peer: Peer, text: str) -> object:
    peer.on(f"GET /tasks/{JOB}", Answer(200, task(text)), Answer(400, said(text)))
    return drydock(peer).report(JobId(JOB), work())


def drydock_shows_something_else(peer: Peer, text: str) -> object:
    peer.on(f"GET /tasks/{JOB}", Answer(200, {"status": text}))
    return drydock(peer).report(JobId(JOB), work())


def drydock_keeps_what_a_note_leads_to(peer: Peer, text: str) -> object:
    peer.on(f"GET /tasks/{JOB}", Answer(200, task(text)))
    return DrydockLinks(peer.url, token=lambda: TOKEN, design_url=DESIGN_URL).fetch(f"{peer.url}/tasks/{JOB}")


def maas_refuses(peer: Peer, text: str) -> object:
    asked = maas(peer)
    peer.on("GET /users/", Answer(400, text))
    return asked.check_health()


def maas_refuses_fields(peer: Peer, text: str) -> object:
    asked = maas(peer)
    peer.on("GET /machines/", Answer(400, {"hostname": [text]}))
    return asked.conditions()


def machines(text: str) -> Answer:
    described = {"system_id": "a", "hostname": "n1", "status": 11, "status_name": text, "owner": "shipyard"}
    return Answer(200, [described | {"status_message": text, "error_description": text, "tag_names": []}])


def maas_shows_machines(peer: Peer, text: str) -> object:
    peer.on("GET /machines/", machines(text))
    return maas(peer).conditions()


def maas_ends_a_job(peer: Peer, text: str) -> object:
    tag = {"name": job_tags.job_tag(JOB), "comment": job_tags.record_text(work(), datetime.now(UTC))}
    peer.on("GET /tags/", Answer(200, [tag]))
    peer.on("GET /machines/", machines(text))
    peer.on("GET /events/", Answer(200, {"events": [{"level": "ERROR", "created": "now", "description": text}]}))
    return maas(peer).report(JobId(JOB), work())


def maas_verifies_a_site(peer: Peer, text: str) -> object:
    site = work(Operation.VERIFY_SITE)
    tag = {"name": job_tags.job_tag(JOB), "comment": job_tags.record_text(site, datetime.now(UTC))}
    peer.on("GET /tags/", Answer(200, [tag]))
    asked = maas(peer)
    peer.on("GET /users/", Answer(200, {"username": text, "is_superuser": False}))
    peer.on("GET /boot-resources/", Answer(200, []))
    peer.on("GET /rackcontrollers/", Answer(200, []))
    return asked.report(JobId(JOB), site)


def ironic_refuses(peer: Peer, text: str) -> object:
    peer.on("GET /v1/nodes", Answer(403, {"error_message": text}))
    return ironic(peer).conditions()


def ironic_refuses_a_user_with_a_password(peer: Peer, text: str) -> object:
    peer.on("GET /v1/nodes", Answer(403, {"error_message": {"faultstring": text.replace(TOKEN, "")}}))
    return ironic(peer, basic=("drydock", PASSWORD)).conditions()


def ironic_shows_nodes(peer: Peer, text: str) -> object:
    peer.on("GET /v1/nodes", Answer(200, {"nodes": [{"name": "n1", "provision_state": text}]}))
    return ironic(peer).conditions()


def ironic_ends_a_job(peer: Peer, text: str) -> object:
    mark = {"shipyard": {"marker": JOB, "operation": "deploy_nodes"}}
    node = {"uuid": "u", "name": "n1", "provision_state": "deploy failed", "last_error": text, "extra": mark}
    peer.on("GET /v1/nodes", Answer(200, {"nodes": [node]}))
    return ironic(peer).report(JobId(JOB), work())


def ironic_verifies_a_site(peer: Peer, text: str) -> object:
    peer.on("GET /v1/conductors", Answer(200, {"conductors": [{"hostname": text, "alive": False}]}))
    return ironic(peer).report(JobId(f"verify_site:{JOB}"), work(Operation.VERIFY_SITE))


def deckhand_refuses(peer: Peer, text: str) -> object:
    peer.on("GET /revisions", fault(400, "X", text))
    return deckhand(peer).heads()


def deckhand_cannot_render(peer: Peer, text: str) -> object:
    told = {"name": text, "message": text, "diagnostic": text, "error_section": text, "path": text, "error": True}
    peer.on("GET /revisions/1/documents", Answer(200, b""))
    peer.on("GET /revisions/1/rendered-documents", fault(400, "InvalidThing", text, told))
    try:
        return deckhand(peer).rendered(Revision(1))
    except RenderingFailed as failed:
        return failed.findings


def deckhand_was_told_of_failures(peer: Peer, text: str) -> object:
    failure = {"status": "failure", "name": text, "errors": [{"message": text, "path": text}, text]}
    peer.on("GET /revisions/1/documents", Answer(200, b""))
    peer.on("GET /revisions/1/validations/detail", single({"results": [failure]}))
    return deckhand(peer).findings(Revision(1))


def promenade_judges_a_design(peer: Peer, text: str) -> object:
    peer.on("POST /validatedesign", Answer(400, status(text)))
    return promenade(peer).validate_design(DESIGN)


def promenade_judges_without_details(peer: Peer, text: str) -> object:
    peer.on("POST /validatedesign", Answer(400, {"message": text}))
    return promenade(peer).validate_design(DESIGN)


def kubernetes_refuses(peer: Peer, text: str) -> object:
    peer.on("GET /api/v1/nodes", Answer(403, {"kind": "Status", "message": text}))
    return _readiness(peer)


def kubernetes_shows_something_else(peer: Peer, text: str) -> object:
    peer.on("GET /api/v1/nodes", Answer(200, {"kind": text}))
    return _readiness(peer)


def kubernetes_shows_a_node(peer: Peer, text: str) -> object:
    told = [{"type": "Ready", "status": "False", "reason": "NotReady", "message": text}]
    return ready(peer, {"metadata": {"name": "n1"}, "status": {"conditions": told}})


def kubernetes_shows_a_node_that_leaves(peer: Peer, text: str) -> object:
    return ready(peer, {"metadata": {"name": "n1", "deletionTimestamp": text}})


def keystone_refuses(peer: Peer, text: str) -> object:
    peer.on("POST /v3/auth/tokens", Answer(401, {"error": {"message": text.replace(TOKEN, "")}}))
    return grant(peer)


def keystone_is_broken(peer: Peer, text: str) -> object:
    peer.on("POST /v3/auth/tokens", Answer(500, {"error": {"message": text.replace(TOKEN, "")}}))
    return grant(peer)


CASES: list[Callable[[Peer, str], object]] = [
    drydock_refuses_a_task,
    drydock_breaks_over_a_task,
    drydock_is_ill,
    drydock_judges_a_design,
    drydock_judges_without_details,
    drydock_judges_without_messages,
    drydock_cannot_fetch_a_design,
    drydock_cannot_read_a_design,
    drydock_shows_machines,
    drydock_shows_no_machines,
    drydock_ends_a_job,
    drydock_ends_a_job_and_does_not_say_why,
    drydock_shows_something_else,
    drydock_keeps_what_a_note_leads_to,
    maas_refuses,
    maas_refuses_fields,
    maas_shows_machines,
    maas_ends_a_job,
    maas_verifies_a_site,
    ironic_refuses,
    ironic_refuses_a_user_with_a_password,
    ironic_shows_nodes,
    ironic_ends_a_job,
    ironic_verifies_a_site,
    deckhand_refuses,
    deckhand_cannot_render,
    deckhand_was_told_of_failures,
    promenade_judges_a_design,
    promenade_judges_without_details,
    kubernetes_refuses,
    kubernetes_shows_something_else,
    kubernetes_shows_a_node,
    kubernetes_shows_a_node_that_leaves,
    keystone_refuses,
    keystone_is_broken,
]
# These show nothing of what the peer says.
SILENT = {drydock_cannot_read_a_design, drydock_shows_something_else}


def told(case: Callable[[Peer, str], object], peer: Peer, text: str) -> str:
    try:
        return repr(case(peer, text))
    except PeerError as trouble:
        return f"{trouble} {trouble.detail}"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_no_secret_of_ours_is_handed_on(peer: Peer, case: Callable[[Peer, str], object]) -> None:
    handed_on = told(case, peer, QUOTED)

    assert "canary" not in handed_on
    assert case in SILENT or ("cannot use" in handed_on and "***" in handed_on)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_what_is_cut_to_a_length_ends_in_no_half_of_one(peer: Peer, case: Callable[[Peer, str], object]) -> None:
    for step in (5, 10, 25, 40):
        text = ""
        for cut in CUTS:
            text += f"{'w ' * ((cut - step - len(text)) // 2)}{TOKEN} {PASSWORD} "
        handed_on = told(case, peer, text)

        assert "cana" not in handed_on, step
