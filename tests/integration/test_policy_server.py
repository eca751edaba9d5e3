"""A rule that a server of the operator decides (oslo.policy's ``http:`` checks)."""

from pathlib import Path

from shipyard_api.adapters.oslo_policy.policy import OsloPolicy
from shipyard_api.ports.identity import Identity
from tests.peer import Answer, running

LIST = "workflow_orchestrator:list_actions"
ANYBODY = Identity("key", "ann", frozenset({"anybody"}))


def test_what_a_server_decides_is_asked_every_time(tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    with running() as peer:
        file.write_text(f'"{LIST}": "{peer.url.split("/api")[0]}/may"')
        policy = OsloPolicy(file)
        peer.on("POST /may", Answer(200, "True"))
        assert policy.allows(LIST, ANYBODY)
        peer.on("POST /may", Answer(200, "False"))

        assert not policy.allows(LIST, ANYBODY)
        assert len(peer.asked("POST /may")) == 2
