"""Reports to a service manager, and to one that is not there. Those of programs: tests/acceptance/test_processes.py."""

import socket
from pathlib import Path

import pytest

from shipyard_api.adapters.procrastinate.service_manager import notify


@pytest.mark.parametrize("address", [None, "", "@nobody-listens-here", "vsock:2:1", "/gone/notify"])
def test_a_missing_service_manager_changes_nothing(address: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    if address is not None:
        monkeypatch.setenv("NOTIFY_SOCKET", address)

    notify("READY=1", "STATUS=working")


def test_a_socket_that_is_a_file_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "notify").touch()
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))

    notify("WATCHDOG=1")


def test_states_arrive_as_one_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        notify("READY=1", "STATUS=working")
        assert manager.recv(1000, socket.MSG_DONTWAIT) == b"READY=1\nSTATUS=working"
