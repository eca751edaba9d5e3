"""gunicorn's own log: what it quotes of a broken request costs no time and gives nothing away."""

import json
import logging
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from gunicorn.config import Config
from gunicorn.http.errors import InvalidHeader, InvalidRequestLine, NoMoreData

from shipyard_api.adapters.gunicorn.logger import JsonLogger

LONGEST_HEADER = 8190


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "error.log"


@pytest.fixture
def logger(log: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[JsonLogger]:
    # gunicorn's loggers are the process's, and pytest's own handlers on them are not ours to change.
    for name in ("gunicorn.error", "gunicorn.access"):
        monkeypatch.setattr(logging.getLogger(name), "handlers", [])
    config = Config()
    config.set("errorlog", str(log))
    logger = JsonLogger(config)
    yield logger
    for handler in list(logger.error_log.handlers):
        logger.error_log.removeHandler(handler)
        handler.close()


@pytest.mark.parametrize(
    "sent", ["a" * LONGEST_HEADER, "a://" * (LONGEST_HEADER // 4)], ids=["a long word", "addresses"]
)
def test_a_broken_header_costs_no_time(logger: JsonLogger, log: Path, sent: str) -> None:
    before = time.process_time()
    for _ in range(5):
        logger.warning(f"Invalid request from ip=10.1.2.3: {InvalidHeader(sent)}")
    assert time.process_time() - before < 1.5

    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert len(lines) == 5
    assert lines[0]["message"].startswith("Invalid request from ip=10.1.2.3: ")


@pytest.mark.parametrize(
    "error",
    [
        InvalidHeader("X-Auth-Token : canary"),
        InvalidRequestLine("GET /?a=b&token=canary&c=d"),
        NoMoreData(b"POST / HTTP/1.1\r\nCookie: a=canary\r\nX-Auth-Token: canary\r\nContent-Length: 3\r\n"),
    ],
    ids=["a header", "an address", "all that came"],
)
def test_a_broken_request_gives_no_secret_away(logger: JsonLogger, log: Path, error: Exception) -> None:
    logger.warning(f"Invalid request from ip=10.1.2.3: {error}")

    told = log.read_text()
    assert "canary" not in told
    assert "10.1.2.3" in json.loads(told)["message"]
