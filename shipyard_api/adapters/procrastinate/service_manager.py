"""What a process reports to the service manager that started it: systemd, with a unit of ``Type=notify``.

The protocol is sd_notify(3): one datagram with lines such as ``READY=1`` to the socket in ``NOTIFY_SOCKET``. gunicorn
reports for the API itself, so only the worker uses this module.
"""

import os
import socket
from contextlib import suppress


def notify(*states: str) -> None:
    """Report these states, such as ``READY=1``. Does nothing without a service manager, and never fails or blocks."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as manager:
        manager.setblocking(False)
        # "@" stands for the null byte of an abstract socket.
        manager.sendto("\n".join(states).encode(), address.replace("@", "\0", 1))
