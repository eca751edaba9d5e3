"""The file of webhooks: every fault is named, no secret is."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from shipyard_api.adapters.webhooks.options import Target, WebhookOptions
from shipyard_api.setting_types import Secret

SECRET = "s" * 32
GOOD = {"name": "ops", "url": "https://ops.example/hooks/1?site=lab", "secret": SECRET}


def options(directory: Path, content: Any) -> WebhookOptions:
    file = directory / "webhooks.yaml"
    file.write_text(content if isinstance(content, str) else yaml.safe_dump(content), encoding="utf-8")
    return WebhookOptions(str(file))


def test_targets_are_read_and_their_secrets_hidden(tmp_path: Path) -> None:
    found = options(tmp_path, [GOOD, {**GOOD, "name": "chat", "kinds": ["action_ended"]}]).targets()

    assert found == (
        Target("ops", GOOD["url"], Secret(SECRET), frozenset()),
        Target("chat", GOOD["url"], Secret(SECRET), frozenset({"action_ended"})),
    )
    assert SECRET not in repr(found)
    assert WebhookOptions().targets() == ()


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        pytest.param([{**GOOD, "name": "Ops"}], "target 1: name", id="name"),
        pytest.param([GOOD, GOOD], "target 2: name", id="twice"),
        pytest.param([{**GOOD, "url": "ftp://x/y"}], "target 1: url", id="scheme"),
        pytest.param([{**GOOD, "url": f"https://u:{SECRET}@x/y"}], "target 1: url", id="user"),
        pytest.param([{**GOOD, "url": "https://x/a b"}], "target 1: url", id="blank"),
        pytest.param([{**GOOD, "url": "https://x:99999/a"}], "target 1: url", id="port"),
        pytest.param([{**GOOD, "url": None}], "target 1: url", id="no url"),
        pytest.param([{**GOOD, "secret": SECRET[:-1]}], "target 1: secret", id="short secret"),
        pytest.param([{**GOOD, "kinds": ["action_end"]}], "target 1: kinds", id="unknown kind"),
        pytest.param([{**GOOD, "kinds": "action_ended"}], "target 1: kinds", id="kinds"),
        pytest.param([{**GOOD, "retries": 1}], "there is no setting retries", id="unknown setting"),
        pytest.param({"ops": GOOD}, "target 1: name", id="mapping"),
        pytest.param(["ops"], "target 1 is not a mapping", id="text"),
        pytest.param(f"secret: {SECRET}\n\tname: ops", "is not YAML; see line 2", id="no YAML"),
    ],
)
def test_a_fault_is_named_without_a_secret(tmp_path: Path, content: Any, fault: str) -> None:
    with pytest.raises(ValueError, match=r"^\[webhooks\] file: ") as raised:
        options(tmp_path, content).targets()

    assert fault in str(raised.value)
    assert SECRET[:-1] not in str(raised.value)


def test_a_missing_file_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="No such file"):
        WebhookOptions(str(tmp_path / "none.yaml")).targets()
