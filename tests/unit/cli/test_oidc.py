"""Where the command line keeps a login. The real keyring of a desktop is in tests/integration/test_real_oidc.py."""

import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from shipyard_api.cli import oidc

URL = "http://127.0.0.1:9000"


class Keyring(ModuleType):
    """A keyring that can be locked."""

    def __init__(self) -> None:
        super().__init__("keyring")
        self.kept: dict[tuple[str, str], str] = {}
        self.locked = False
        self.errors = ModuleType("keyring.errors")
        self.errors.KeyringError = KeyError  # type: ignore[attr-defined]
        self.core = SimpleNamespace(recommended=lambda _keyring: True)

    def get_keyring(self) -> "Keyring":
        if self.locked:
            raise KeyError("locked")
        return self

    def set_password(self, service: str, url: str, password: str) -> None:
        self.kept[service, url] = password

    def get_password(self, service: str, url: str) -> str | None:
        return self.kept.get((service, url))

    def delete_password(self, service: str, url: str) -> None:
        del self.kept[service, url]


@pytest.fixture
def keyring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Keyring:
    made = Keyring()
    monkeypatch.setitem(sys.modules, "keyring", made)
    monkeypatch.setitem(sys.modules, "keyring.errors", made.errors)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return made


def test_logging_out_forgets_the_login_that_a_locked_keyring_kept_when_a_newer_one_went_to_the_file(
    keyring: Keyring, tmp_path: Path
) -> None:
    file = tmp_path / "shipyard" / "logins.json"
    assert oidc._keep(URL, {"token": "old"}) == "the system's keyring"
    keyring.locked = True
    assert oidc._keep(URL, {"token": "new"}) == str(file)
    keyring.locked = False

    assert oidc.logout(URL)
    assert keyring.kept == {}
    assert json.loads(file.read_text()) == {}
    assert not oidc.logout(URL)


@pytest.mark.parametrize("in_file", [True, False])
def test_a_locked_keyring_keeps_a_login_from_being_forgotten_only_if_it_is_there(
    keyring: Keyring, in_file: bool
) -> None:
    keyring.locked = in_file
    oidc._keep(URL, {"token": "one"})
    keyring.locked = True
    if in_file:
        assert oidc.logout(URL)
    else:
        with pytest.raises(oidc.LoginError, match="which refuses"):
            oidc.logout(URL)
        assert oidc._logins() == {URL: {}}
