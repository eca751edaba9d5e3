"""The status port of a worker."""

import http.client

from shipyard_api.adapters.status_port import served
from tests.waiting import PATIENCE


class Text:
    content_type = "text/plain; version=0.0.4"

    def text(self) -> bytes:
        return b"shipyard_x 1\n"


def test_probes_and_metrics() -> None:
    with served("127.0.0.1", 0, Text(), live=lambda: True, ready=lambda: False) as port:

        def ask(path: str) -> tuple[int, bytes]:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
            connection.request("GET", path)
            answer = connection.getresponse()
            found = answer.status, answer.read()
            connection.close()
            return found

        assert ask("/health/live") == (204, b"")
        assert ask("/health/ready") == (503, b"")
        assert ask("/metrics") == (200, b"shipyard_x 1\n")
        assert ask("/") == (404, b"")
