"""compose.yaml: read by a parser of the Compose specification, and played without containers.

Each service runs as a process, with the command and the environment that the file gives it; only ports, the database
and the two directories are others. What only an engine does is tried by .ci/image.py where there is one.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml

from shipyard_api.child_processes import die_with_parent
from shipyard_simulators.held_port import HeldPort
from tests.packaging.conftest import PROGRAMS, ROOT, Run
from tests.waiting import PATIENCE, until

FILE = ROOT / "compose.yaml"
# A child of ours finds its program, `shipyard`, where the tests have it.
PATH = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"


def services(replaced: Mapping[str, str] | None = None) -> dict[str, Any]:
    text = FILE.read_text(encoding="utf-8")
    for old, new in (replaced or {}).items():
        assert old in text
        text = text.replace(old, new)
    return dict(yaml.safe_load(text)["services"])


def test_the_file_meets_the_compose_specification(run: Run) -> None:
    if not (PROGRAMS / "python").exists():
        pytest.skip("./dev packages has not made its environment")
    # The parser knows no merge keys, so it gets what they stand for.
    text = yaml.safe_dump(yaml.safe_load(FILE.read_text(encoding="utf-8")))
    parse = "import compose_spec, sys; compose_spec.PyCompose.from_yaml(sys.stdin.read()).validate()"
    run(str(PROGRAMS / "python"), "-c", parse, input=text)


def test_nothing_is_published_beyond_this_machine() -> None:
    ports = [port for service in services().values() for port in service.get("ports", ())]

    assert ports == ["127.0.0.1:9000:9000"]


def test_our_containers_have_no_rights() -> None:
    ours = {name: service for name, service in services().items() if "build" in service}

    assert set(ours) == {"setup", "api", "worker", "drydock", "demo"}
    for service in ours.values():
        assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])


@pytest.fixture
def held_ports() -> Iterator[list[HeldPort]]:
    with ExitStack() as stack:
        yield [stack.enter_context(HeldPort()) for _ in range(3)]


def test_the_demo_deploys_its_site(tmp_path: Path, database_url: str, held_ports: list[HeldPort]) -> None:
    state = tmp_path / "state"
    state.mkdir()
    api, drydock, status = (str(port.number) for port in held_ports)
    played = services(
        {
            "postgresql://shipyard:shipyard@database/shipyard": database_url,
            "127.0.0.1:9000": f"127.0.0.1:{api}",
            "127.0.0.1:9001": f"127.0.0.1:{drydock}",
            "--port 9001": f"--port {drydock}",
            '"9002"': f'"{status}"',
            "127.0.0.1:9002": f"127.0.0.1:{status}",
            "SHIPYARD_SECRETS_KEYS_FILE: /var/lib/shipyard": f"SHIPYARD_SECRETS_KEYS_FILE: {state}",
        }
    )
    environment = {"STATE": str(state), "SHARE": str(_share(tmp_path)), "SHIPYARD_BIND": f"127.0.0.1:{api}"}

    for _ in range(2):  # `docker compose up` again finds what it made
        assert played["setup"]["restart"] == "on-failure"
        codes = (_run(played["setup"], environment, tmp_path / "setup.log") for _ in range(5))
        assert any(code == 0 for code in codes), (tmp_path / "setup.log").read_text()
    with ExitStack() as stack:
        for name in ("api", "worker", "drydock"):
            stack.enter_context(_started(played[name], environment, tmp_path / f"{name}.log"))
        for path in (f"{drydock}/versions", f"{api}/health/ready", f"{status}/health/ready"):
            # An answer is true if it is no error.
            ask = partial(requests.get, f"http://127.0.0.1:{path}", timeout=5)
            until(ask, every=0.1, but=requests.RequestException)
        for name in ("api", "worker", "drydock"):
            assert subprocess.run(_probe(name, played), env=_environment(played["worker"], environment)).returncode == 0
        log = tmp_path / "demo.log"
        assert _run(played["demo"], environment, log) == 0, log.read_text()

    assert "action is Complete" in log.read_text()
    assert "In a browser: http://127.0.0.1:" in log.read_text()


def _probe(name: str, played: Mapping[str, Any]) -> list[str]:
    """Return the command of a health check; that of the API is the image's."""
    if "healthcheck" in played[name]:
        return list(played[name]["healthcheck"]["test"][1:])
    line = (ROOT / "Dockerfile").read_text().partition("    CMD ")[2].partition("\n")[0]
    return [
        word.replace("http://127.0.0.1:9000", played["demo"]["environment"]["SHIPYARD_URL"])
        for word in yaml.safe_load(line)
    ]


def _share(directory: Path) -> Path:
    """Return a directory that looks like share/shipyard of an installation."""
    share = directory / "share"
    share.mkdir()
    shutil.copytree(ROOT / "docs" / "examples", share / "examples")
    return share


def _environment(service: Mapping[str, Any], given: Mapping[str, str]) -> dict[str, str]:
    return {
        "PATH": PATH,
        "HOME": "/nonexistent",
        "SHIPYARD_CONFIG": os.devnull,
        **service.get("environment", {}),
        **given,
    }


def _command(service: Mapping[str, Any]) -> list[str]:
    words = [*service.get("entrypoint", ["shipyard"]), *service.get("command", ["serve"])]
    return [word.replace("$$", "$") for word in words]


def _run(service: Mapping[str, Any], given: Mapping[str, str], log: Path) -> int:
    with log.open("wb") as output:
        environment = _environment(service, given)
        return subprocess.run(
            _command(service), env=environment, stdout=output, stderr=output, timeout=PATIENCE, check=False
        ).returncode


@contextmanager
def _started(service: Mapping[str, Any], given: Mapping[str, str], log: Path) -> Iterator[None]:
    with log.open("wb") as output:
        process = subprocess.Popen(
            _command(service),
            env=_environment(service, given),
            stdout=output,
            stderr=output,
            preexec_fn=die_with_parent,
        )
        try:
            yield
        finally:
            process.terminate()
            process.wait(PATIENCE)
