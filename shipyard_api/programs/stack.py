"""The embedded stack in the foreground: Postgres, API, worker, simulated provisioner and hosts, as one program.

``python -m shipyard_api.programs.stack up``: the command line starts it for `shipyard up` and `shipyard demo`. It
restarts programs that exit, and stops all of them at its own end. Real installations run the same API and worker
under their own supervisor (docs/howto/install.md).
"""

import contextlib
import errno
import json
import os
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path

import click
from msgspec import Struct

import shipyard_simulators
from shipyard_api.adapters.encryption.fernet import new_key
from shipyard_api.adapters.gunicorn import first_check
from shipyard_api.child_processes import Stack, wait_until_it_answers
from shipyard_api.ports.provisioner_plugin import SimulatedPeer
from shipyard_api.programs import launch
from shipyard_api.programs.stack_settings import given_settings, simulates_hosts, worker_intervals
from shipyard_api.settings.plugins import PROVISIONERS
from shipyard_api.storage import migrations
from shipyard_api.storage.run_history import RunHistory
from shipyard_api.storage.unit_of_work import connect
from shipyard_api.wiring.settings import load, share_directory
from shipyard_simulators.addresses import network, read_addresses
from shipyard_simulators.embedded_postgres import server as embedded_postgres
from shipyard_simulators.held_port import HeldPort
from shipyard_simulators.hosts import keys
from shipyard_simulators.record import entries as of_peer
from shipyard_simulators.scenario import ScenarioInvalid, load_scenario

# The name of the token with which the simulator fetches designs; every start creates a new one.
_SIMULATOR = "simulated drydock"
_KEYS = frozenset({"SHIPYARD_SECRETS_KEYS", "SHIPYARD_SECRETS_KEYS_FILE"})
# Stands for an address that is not known before the stack runs.
_NOWHERE = "http://127.0.0.1:9"
_SETTLE = 1.0  # seconds
_DESIGN = "/api/v1.0/revisions/{revision}/rendered-documents"


class StackOptions(Struct, frozen=True):
    """The options of `shipyard up`."""

    port: int
    data_directory: Path | None
    scenario: str
    speed: float
    ready_file: Path | None
    with_parent: bool
    provisioner: str
    site: Path
    kubernetes: bool
    history: Path | None


def _peer(options: StackOptions, design_token: str = "") -> SimulatedPeer:
    simulated = PROVISIONERS.get(options.provisioner).simulated
    if simulated is None:
        raise click.UsageError(f"--provisioner {options.provisioner}: it has no simulator")
    return simulated(site=options.site, share=share_directory(), design_token=design_token)


@click.group()
def main() -> None:
    """Run the embedded stack."""


@main.command()
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="Where to serve on 127.0.0.1; 0 takes a free one."
)
@click.option("--data-dir", type=click.Path(path_type=Path, file_okay=False), help="Where the data is kept.")
@click.option("--temporary", is_flag=True, help="Delete all data when the stack stops.")
@click.option(
    "--provisioner",
    default="drydock",
    show_default=True,
    help="Which provisioner is simulated: drydock, maas, ironic, or one of an installed plug-in.",
)
@click.option(
    "--site",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    default=Path(shipyard_simulators.__path__[0], "sites", "five-groups.yaml"),
    help="The design whose machines a simulated MAAS or Ironic has; Drydock reads the committed one.",
)
@click.option(
    "--scenario", default="calm", show_default=True, help="What goes wrong at the simulated site: a name, or a file."
)
@click.option(
    "--speed",
    type=click.FloatRange(0.1, 10_000),
    default=100.0,
    show_default=True,
    help="How many times faster than real hardware. Limits in a design shrink alike; those of an action do not.",
)
@click.option("--kubernetes", is_flag=True, help="Simulate a Kubernetes, too, which deployed machines join.")
@click.option(
    "--ready-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the URL and a token here when it serves.",
)
@click.option(
    "--history",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the history of this run here when the stack stops.",
)
@click.option("--with-parent", is_flag=True, help="Stop when the program that started this one is gone.")
def up(
    port: int,
    data_dir: Path | None,
    temporary: bool,
    provisioner: str,
    site: Path,
    scenario: str,
    speed: float,
    kubernetes: bool,
    ready_file: Path | None,
    history: Path | None,
    with_parent: bool,
) -> None:
    """Start everything, serve until Ctrl-C, stop everything."""
    if temporary and data_dir:
        raise click.UsageError("--temporary and --data-dir exclude each other: a temporary stack keeps no data")
    directory = None if temporary else data_dir or _default_directory()
    options = StackOptions(
        port, directory, scenario, speed, ready_file, with_parent, provisioner, site, kubernetes, history
    )
    given = {} if temporary else given_settings(os.environ, provisioner, kubernetes=kubernetes)
    if given:
        refuse_unusable(options, given)
    interrupt = launch.Interrupt()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, interrupt)
    with contextlib.suppress(KeyboardInterrupt):
        _run(options, given, interrupt)


def refuse_unusable(options: StackOptions, given: Mapping[str, str]) -> None:
    """Exit with 2, saying why, if the service could not use the caller's settings. Nothing has been started yet."""
    peer = _peer(options)
    settings = {f"SHIPYARD_{options.provisioner.upper()}_URL": f"{_NOWHERE}{peer.base}", **peer.settings}
    if not given.keys() & _KEYS:
        settings["SHIPYARD_SECRETS_KEYS"] = new_key()
    environment = _environment(options, _NOWHERE, "postgresql://127.0.0.1:9/none", settings, given)

    def check() -> None:
        from shipyard_api.wiring import bootstrap  # in a child: this program stays small

        if launch.run_program(lambda: bool(bootstrap.check(load(environment))) and None):
            sys.exit(2)

    if not first_check.passes(check):
        sys.exit(2)


def _run(options: StackOptions, given: Mapping[str, str], interrupt: launch.Interrupt) -> None:
    try:
        load_scenario(options.scenario)
    except ScenarioInvalid as error:
        raise click.ClickException(f"--scenario {options.scenario}: {'; '.join(error.faults)}") from error
    with (
        _listener(options.port) as listener,
        _place(options.data_directory) as directory,
        _database(directory, options) as (url, tend_database),
    ):
        parent = os.getppid()
        engine = connect(url, pool_size=1)
        migrations.upgrade(engine, share_directory() / "migrations")
        engine.dispose()
        history = RunHistory(engine)
        token, design_token = _tokens(url, options.data_directory)
        stack, provisioner = Stack(directory), options.provisioner
        peer = _peer(options, design_token)
        try:
            # Start all at once: each takes a second or two, and none needs another one to start.
            simulator = _add_simulator(stack, options, provisioner, peer)
            settings = {f"SHIPYARD_{provisioner.upper()}_URL": f"{simulator}{peer.base}", **peer.settings}
            simulators = {provisioner: simulator}
            if options.kubernetes:
                simulators["kubernetes"] = settings["SHIPYARD_KUBERNETES_URL"] = _start_kubernetes(stack, options)
            if simulates_hosts(given):
                simulators["hosts"], hosts = _start_hosts(stack, options, directory / "hosts")
                settings |= hosts
            if not given.keys() & _KEYS:
                settings["SHIPYARD_SECRETS_KEYS_FILE"] = str(_secret_key(directory))
            address = _start_service(stack, options, listener, url, settings, given)
            wait_until_it_answers(stack, provisioner, f"{simulator}{peer.ready}")
            if options.kubernetes:
                wait_until_it_answers(stack, "kubernetes", f"{simulators['kubernetes']}/readyz")
            if "hosts" in simulators:
                wait_until_it_answers(stack, "hosts", f"{simulators['hosts']}/simulator/hosts")
            wait_until_it_answers(stack, "api", f"{address}/health")
            ready = {
                "url": address,
                "token": token,
                "database_url": url,
                "pid": os.getpid(),
                "simulators": simulators,
            }
            _announce(options, ready)
            tended = [tend_database, stack.tend, *((history.poll,) if options.history else ())]
            while not (options.with_parent and os.getppid() != parent):
                interrupt.check()
                for tend in tended:
                    tend()
                time.sleep(0.1)
        finally:
            stack.stop()
            if options.history:
                _write_history(options.history, options, directory, history)


@contextlib.contextmanager
def _listener(port: int) -> Iterator[socket.socket]:
    """Give the socket of the API: no other program can take the port while the API restarts."""
    try:
        listener = socket.create_server(("127.0.0.1", port), backlog=256)
    except OSError as error:
        why = "another program uses it" if error.errno == errno.EADDRINUSE else os.strerror(error.errno or 0)
        raise click.ClickException(f"--port {port}: {why}. Choose another one, or 0 for a port that is free") from error
    with listener:
        yield listener


@contextlib.contextmanager
def _place(kept: Path | None) -> Iterator[Path]:
    """Give the directory for the logs and files of this run."""
    if kept is None:
        with tempfile.TemporaryDirectory(prefix="shipyard-") as directory:
            yield Path(directory)
    else:
        try:
            kept.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=kept):
                pass
        except OSError as error:
            raise click.ClickException(
                f"--data-dir {kept}: {os.strerror(error.errno or 0)}. Choose a directory that you may write to"
            ) from error
        yield kept


@contextlib.contextmanager
def _database(directory: Path, options: StackOptions) -> Iterator[tuple[str, Callable[[], None]]]:
    """Give the URL of the database, and a function that restarts an embedded server that has exited.

    The database is the embedded one, or DATABASE_URL for a stack that keeps its data. A temporary
    stack must not write into a database that is set for another purpose.
    """
    given = os.environ.get("DATABASE_URL")
    if given and options.data_directory is not None:
        yield given, lambda: None
        return

    def tend() -> None:
        if not running.is_running():
            click.echo("PostgreSQL exited; restarting it")
            running.restart()

    try:
        # Nothing outlives a temporary stack, so nothing needs to reach the disk.
        server = (
            embedded_postgres.temporary({"fsync": "off", "synchronous_commit": "off"})
            if options.data_directory is None
            else embedded_postgres.start(directory / "postgres")
        )
        with server as running:
            yield running.url, tend
    except embedded_postgres.PostgresError as error:
        raise click.ClickException(str(error)) from error


def _write_history(file: Path, options: StackOptions, directory: Path, history: RunHistory) -> None:
    """Write the history of this run, once its programs have ended."""
    header = {
        "made_by": "up" if options.data_directory else "demo",
        "provisioner": options.provisioner,
        "release": version("shipyard"),
        "scenario": load_scenario(options.scenario).name,
        "settle": _SETTLE,
    }
    logs = {peer: _event_log(directory, peer) for peer in (options.provisioner, "kubernetes")}
    peers = {
        peer: list(of_peer(peer, map(json.loads, log.read_text("utf-8").splitlines())))
        for peer, log in logs.items()
        if log.is_file()
    }
    history.write(file, header, peers)


def _tokens(url: str, kept: Path | None) -> tuple[str, str]:
    """Return an admin token, kept between runs, and a token for the simulator to fetch designs with."""
    tokens = launch.tokens(load({"SHIPYARD_CONFIG": os.devnull, "DATABASE_URL": url}))
    for former in tokens.all():
        if former.name == _SIMULATOR and former.revoked_at is None:
            tokens.revoke(former.id)
    _, design_token = tokens.create(_SIMULATOR, "peer")
    file = kept / "admin.token" if kept else None
    if file and file.is_file():
        return file.read_text(encoding="utf-8").strip(), design_token
    _, secret = tokens.create("admin", "admin")
    if file:
        file.touch(mode=0o600)
        file.write_text(secret + "\n", encoding="utf-8")
    return secret, design_token


def _start_kubernetes(stack: Stack, options: StackOptions) -> str:
    follow = str(_event_log(stack.directory, options.provisioner))
    return _start_own(stack, options, "kubernetes", "--site", str(options.site), "--follow", follow)


def _start_hosts(stack: Stack, options: StackOptions, directory: Path) -> tuple[str, Mapping[str, str]]:
    """Start the simulated hosts; return their URL, and the settings to reach them by SSH."""
    keys.ensure(directory)
    port = str(stack.held.enter_context(HeldPort()).number)
    follow = str(_event_log(stack.directory, options.provisioner))
    arguments = ("--site", str(options.site), "--directory", str(directory), "--ssh-port", port, "--follow", follow)
    return _start_own(stack, options, "hosts", *arguments), {
        "SHIPYARD_SSH_KEY_FILE": str(directory / keys.KEY),
        "SHIPYARD_SSH_KNOWN_HOSTS": str(directory / keys.KNOWN_HOSTS),
        "SHIPYARD_SSH_JUMP_HOST": f"shipyard@127.0.0.1:{port}",
        "SHIPYARD_SSH_NETWORK": network(read_addresses(options.site)),
        "SHIPYARD_SSH_MASTER": "master",
    }


def _start_own(stack: Stack, options: StackOptions, name: str, *arguments: str) -> str:
    peer = SimulatedPeer(module=f"shipyard_simulators.{name}", ready="", arguments=arguments)
    return _add_simulator(stack, options, name, peer)


def _add_simulator(stack: Stack, options: StackOptions, name: str, peer: SimulatedPeer) -> str:
    # A port of its own: after a restart, the simulator must have the address that the service knows.
    port = stack.held.enter_context(HeldPort()).number
    command = [
        *(sys.executable, "-m", peer.module, "--port", str(port)),
        *("--scenario", options.scenario, "--time-scale", f"{1 / options.speed:g}"),
        *("--log-file", str(_event_log(stack.directory, name)), *peer.arguments),
    ]
    stack.add(name, command, peer.environment)
    return f"http://127.0.0.1:{port}"


def _event_log(directory: Path, name: str) -> Path:
    return directory / f"{name}.jsonl"


def _secret_key(directory: Path) -> Path:
    """Return the file with the key for encrypted documents. It is created once and kept with the data."""
    file = directory / "secrets.key"
    if not file.is_file():
        part = directory / f"secrets.key.{os.getpid()}"
        part.touch(mode=0o600)
        part.write_text(new_key() + "\n", encoding="utf-8")
        part.rename(file)
    return file


def _start_service(
    stack: Stack,
    options: StackOptions,
    listener: socket.socket,
    url: str,
    settings: Mapping[str, str],
    given: Mapping[str, str],
) -> str:
    """Start API and worker; ``settings`` are those of the simulator, ``given`` those of the caller."""
    address = f"http://127.0.0.1:{listener.getsockname()[1]}"
    environment = _environment(options, address, url, settings, given)
    environment["SHIPYARD_BIND"] = f"fd://{listener.fileno()}"
    configuration = share_directory() / "etc" / "gunicorn.conf.py"
    gunicorn = [sys.executable, "-m", "gunicorn", "-c", str(configuration), "shipyard_api.programs.asgi:app"]
    stack.add("api", gunicorn, environment, (listener.fileno(),))
    stack.add("worker", [sys.executable, "-m", "shipyard_api.programs.worker"], environment)
    return address


def _environment(
    options: StackOptions, address: str, url: str, settings: Mapping[str, str], given: Mapping[str, str]
) -> dict[str, str]:
    """Return the settings of API and worker as variables. ``address``: of the API; ``url``: of the database."""
    scale = 1 / options.speed
    return {
        "SHIPYARD_API_WORKERS": "1",
        "SHIPYARD_ENGINE_TIME_SCALE": f"{scale:g}",
        "SHIPYARD_ENGINE_SETTLE_SECONDS": f"{_SETTLE:g}",
        f"SHIPYARD_{options.provisioner.upper()}_CONNECT_TIMEOUT_SECONDS": "0.5",
        "SHIPYARD_ENGINE_QUESTION_PAUSE_SECONDS": "0.5",
        "SHIPYARD_WORKER_CONCURRENCY": "4",
        "SHIPYARD_WORKER_POLL_SECONDS": f"{min(0.5, max(0.05, 5 * scale)):g}",
        "SHIPYARD_WORKER_GRACEFUL_SECONDS": "2",
        **worker_intervals(options.speed),
        "SHIPYARD_DRYDOCK_NODEFILTER_PAUSE_SECONDS": "0.5",
        **given,
        "SHIPYARD_CONFIG": os.devnull,
        "DATABASE_URL": url,
        "SHIPYARD_PROVISIONER_KIND": options.provisioner,
        "SHIPYARD_DRYDOCK_DESIGN_URL": f"deckhand+{address}{_DESIGN}",
        **settings,
    }


def _announce(options: StackOptions, ready: Mapping[str, object]) -> None:
    if options.ready_file:
        # Renamed when complete, so readers never see half a file. The file holds a token: only the owner may read it.
        part = options.ready_file.with_name(f"{options.ready_file.name}.{os.getpid()}")
        part.touch(mode=0o600)
        part.write_text(json.dumps(ready), encoding="utf-8")
        part.rename(options.ready_file)
    _say(f"Shipyard serves at {ready['url']} with a simulated site; Ctrl-C stops it. In another terminal:")
    _say(f"  export SHIPYARD_URL={ready['url']} SHIPYARD_TOKEN={ready['token']}")
    _say(f"Or in a browser: {ready['url']}/#token={ready['token']}")


def _default_directory() -> Path:
    if os.geteuid() == 0:
        return Path("/var/lib/shipyard")
    home = os.environ.get("XDG_DATA_HOME")
    return (Path(home) if home else Path.home() / ".local" / "share") / "shipyard"


def _say(line: str) -> None:
    click.echo(line)


if __name__ == "__main__":
    sys.exit(launch.run_program(lambda: main(prog_name="shipyard")))
