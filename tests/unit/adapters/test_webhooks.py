"""The file of webhooks: every fault is named, no secret is."""

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from shipyard_api.adapters.webhooks import Target, WebhookOptions, key_of
from shipyard_api.ports.state.journal import EventFormat
from shipyard_api.settings.types import Secret

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


def key(size: int) -> str:
    return f"whsec_{base64.b64encode(bytes(size)).decode()}"


FAULTS: dict[str, tuple[Any, str]] = {
    "name": ([{**GOOD, "name": "Ops"}], "target 1: name"),
    "twice": ([GOOD, GOOD], "target 2: name"),
    "scheme": ([{**GOOD, "url": "ftp://x/y"}], "target 1: url"),
    "user": ([{**GOOD, "url": f"https://u:{SECRET}@x/y"}], "target 1: url"),
    "blank": ([{**GOOD, "url": "https://x/a b"}], "target 1: url"),
    "port": ([{**GOOD, "url": "https://x:99999/a"}], "target 1: url"),
    "no url": ([{**GOOD, "url": None}], "target 1: url"),
    "short secret": ([{**GOOD, "secret": SECRET[:-1]}], "target 1: secret"),
    "no secret": ([{**GOOD, "secret": []}], "target 1: secret"),
    "short second secret": ([{**GOOD, "secret": [SECRET, SECRET[:-1]]}], "target 1: secret"),
    "short key": ([{**GOOD, "secret": f"whsec_{'A' * 28}"}], "target 1: secret"),
    "long key": ([{**GOOD, "secret": f"whsec_{'A' * 88}"}], "target 1: secret"),
    "no base64": ([{**GOOD, "secret": f"whsec_{'A' * 33}"}], "target 1: secret"),
    "a key that is a byte too short": ([{**GOOD, "secret": key(23)}], "target 1: secret"),
    "a key that is a byte too long": ([{**GOOD, "secret": key(65)}], "target 1: secret"),
    "a secret that is no text": ([{**GOOD, "secret": 7}], "target 1: secret"),
    "base64 and more": ([{**GOOD, "secret": f"whsec_{'A' * 32}!"}], "target 1: secret"),
    "fragment": ([{**GOOD, "url": "https://x/a#b"}], "target 1: url"),
    "control character": ([{**GOOD, "url": "https://x/a\x7f"}], "target 1: url"),
    "long name": ([{**GOOD, "name": "a" * 65}], "target 1: name"),
    "one after a text": (["ops", {**GOOD, "name": "Ops"}], "target 2: name"),
    "two at once": ([{**GOOD, "name": "Ops", "url": 7}], "target 1: url"),
    "a kind that is no text": ([{**GOOD, "kinds": [3]}], "target 1: kinds"),
    "format": ([{**GOOD, "format": "xml"}], "target 1: format: needs shipyard or cloudevents"),
    "list of formats": ([{**GOOD, "format": []}], "target 1: format"),
    "unknown kind": ([{**GOOD, "kinds": ["action_end"]}], "target 1: kinds"),
    "kinds": ([{**GOOD, "kinds": "action_ended"}], "target 1: kinds"),
    "unknown setting": ([{**GOOD, "retries": 1}], "there is no setting retries"),
    "mapping": ({"ops": GOOD}, "target 1: name"),
    "text": (["ops"], "target 1 is not a mapping"),
    "no YAML": (f"secret: {SECRET}\n\tname: ops", "is not YAML; see line 2"),
}


def test_a_fault_is_named_without_a_secret(tmp_path: Path) -> None:
    for title, (content, fault) in FAULTS.items():
        with pytest.raises(ValueError, match=r"^\[webhooks\] file: ") as raised:
            options(tmp_path, content).targets()
        assert fault in str(raised.value), title
        assert SECRET[:-1] not in str(raised.value), title


def test_a_target_may_have_several_secrets_and_wants_cloud_events(tmp_path: Path) -> None:
    keys = [f"whsec_{'A' * 32}", SECRET, key(64)]
    (found,) = options(tmp_path, [{**GOOD, "secret": keys, "format": "cloudevents"}]).targets()

    assert (found.secrets, found.format) == (tuple(keys), EventFormat.CLOUDEVENTS)
    assert [key_of(one) for one in found.secrets] == [bytes(24), SECRET.encode(), bytes(64)]


def test_a_missing_file_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="No such file"):
        WebhookOptions(str(tmp_path / "none.yaml")).targets()
