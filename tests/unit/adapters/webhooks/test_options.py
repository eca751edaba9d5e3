"""The file of webhooks: every fault is named, no secret is."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from shipyard_api.adapters.webhooks.options import Target, WebhookOptions, key_of
from shipyard_api.ports.state.journal import EventFormat
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
        Target("ops", GOOD["url"], (Secret(SECRET),), frozenset()),
        Target("chat", GOOD["url"], (Secret(SECRET),), frozenset({"action_ended"})),
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
        pytest.param([{**GOOD, "secret": []}], "target 1: secret", id="no secret"),
        pytest.param([{**GOOD, "secret": [SECRET, SECRET[:-1]]}], "target 1: secret", id="short second secret"),
        pytest.param([{**GOOD, "secret": f"whsec_{'A' * 28}"}], "target 1: secret", id="short key"),
        pytest.param([{**GOOD, "secret": f"whsec_{'A' * 88}"}], "target 1: secret", id="long key"),
        pytest.param([{**GOOD, "secret": f"whsec_{'A' * 33}"}], "target 1: secret", id="no base64"),
        pytest.param([{**GOOD, "format": "xml"}], "target 1: format: needs shipyard or cloudevents", id="format"),
        pytest.param([{**GOOD, "format": []}], "target 1: format", id="list of formats"),
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


def test_a_target_may_have_several_secrets_and_wants_cloud_events(tmp_path: Path) -> None:
    key = f"whsec_{'A' * 32}"
    (found,) = options(tmp_path, [{**GOOD, "secret": [key, SECRET], "format": "cloudevents"}]).targets()

    assert (found.secrets, found.format) == ((key, SECRET), EventFormat.CLOUDEVENTS)
    assert [key_of(one) for one in found.secrets] == [bytes(24), SECRET.encode()]


def test_a_missing_file_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="No such file"):
        WebhookOptions(str(tmp_path / "none.yaml")).targets()
