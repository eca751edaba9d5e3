"""Jump hosts, as people write them."""

import pytest

from shipyard_api.adapters.ssh import JumpHost, jump_host
from tests.unit.tables import every_row


@every_row(
    [
        ("", None),
        ("gate", JumpHost("root", "gate", 22)),
        ("ops@gate", JumpHost("ops", "gate", 22)),
        ("a@b@gate:2222", JumpHost("a@b", "gate", 2222)),
        ("10.0.0.1:2222", JumpHost("root", "10.0.0.1", 2222)),
        ("fd00::1", JumpHost("root", "fd00::1", 22)),
        ("ops@[fd00::1]:2222", JumpHost("ops", "fd00::1", 2222)),
        ("[fd00::1]", JumpHost("root", "fd00::1", 22)),
    ],
)
def test_a_jump_host_has_a_user_and_a_port(written: str, expected: JumpHost | None) -> None:
    assert jump_host(written, "root") == expected


@every_row(["@gate", "ops@", "gate:", "gate:x", "gate:0", "gate:65536", "gate:²", "[a]b", ":22"])
def test_anything_else_is_refused(written: str) -> None:
    with pytest.raises(ValueError, match="is not a host; write it as"):
        jump_host(written, "root")
