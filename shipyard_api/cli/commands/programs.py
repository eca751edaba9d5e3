"""Commands that replace this process with a program of an installation: its services and its administration.

The options of ``up`` and of the administration are declared here and in the program, because the programs import the
database and the engine: help, completion and usage errors must start nothing and need none of it. A test compares both
declarations. Simulators and gunicorn get their arguments unchanged.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from shipyard_api.cli.commands.demo import SPEEDS, known_provisioner, provisioners, require_demo_parts, scenarios
from shipyard_api.cli.commands.syntax import examples

_ADMIN = "shipyard_api.programs.admin"
_OF_GUNICORN = ("--bind", "--workers", "--threads", "--certfile", "--keyfile")  # for completion; gunicorn has more
_SITES_VARIABLE = "SHIPYARD_SITES"
_sites = click.option(
    "--sites",
    type=click.Path(file_okay=False),
    envvar=_SITES_VARIABLE,
    show_envvar=True,
    help="Work for many sites: a directory with one settings file for each, NAME.conf.",
)
_PASSED_ON = {"ignore_unknown_options": True, "allow_interspersed_args": False}


def run(module: str, arguments: Sequence[str]) -> NoReturn:
    """Replace this process with ``python -m module arguments``."""
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execv(sys.executable, [sys.executable, "-m", module, *arguments])  # noqa: S606 - a fixed list, no shell
    except OSError as error:
        raise click.ClickException(f"cannot start {module} with {sys.executable}: {error.strerror}") from error


def become(module: str, *words: str) -> NoReturn:
    """Replace this process with a program of ours, with the options of this command line."""
    context = click.get_current_context()
    for parameter in context.command.params:
        name = str(parameter.name)
        if context.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
            continue
        values = context.params[name]
        for value in values if isinstance(values, tuple) else (values,):
            if isinstance(parameter, click.Option) and parameter.is_flag:
                words += (parameter.opts[0],)
                continue
            text = f"{value:g}" if isinstance(value, float) else str(value)
            words += (text,) if isinstance(parameter, click.Argument) else (parameter.opts[0], text)
    run(module, words)


def _simulator(name: str, summary: str) -> click.Command:
    """Return a command that passes all of its arguments to a simulator."""

    @click.command(name, context_settings=_PASSED_ON, add_help_option=False, short_help=summary, help=summary)
    @click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
    def command(arguments: tuple[str, ...]) -> None:
        require_demo_parts()
        run(f"shipyard_simulators.{name}", arguments)

    return command


class _Serve(click.Command):
    """The command that starts gunicorn; completion offers some of gunicorn's options."""

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return our options and gunicorn's that begin so."""
        ours = super().shell_complete(ctx, incomplete)
        return ours + [CompletionItem(name) for name in _OF_GUNICORN if name.startswith(incomplete)]


@click.command(
    cls=_Serve,
    context_settings=_PASSED_ON,
    short_help="Serve the REST API, for a real installation.",
    epilog=examples(
        "shipyard serve",
        "shipyard serve --bind 0.0.0.0:9000 --workers 4",
        "shipyard serve --sites /etc/shipyard/sites --bind 0.0.0.0:9000",
    ),
)
@_sites
@click.argument("gunicorn", nargs=-1, type=click.UNPROCESSED)
def serve(sites: str | None, gunicorn: tuple[str, ...]) -> None:
    """Serve the REST API with gunicorn; further arguments are gunicorn's, such as --bind 0.0.0.0:9000."""
    if sites:
        os.environ[_SITES_VARIABLE] = sites
    configuration = share("etc", "gunicorn.conf.py")
    run("gunicorn", ["--no-control-socket", "-c", str(configuration), *gunicorn, "shipyard_api.programs.asgi:app"])


def share(*parts: str) -> Path:
    """Return a data file of the distribution: in the checkout, or else under the installation's prefix."""
    places = (Path(__file__).parents[3], Path(sys.prefix, "share", "shipyard"))
    for place in places:
        path = place.joinpath(*parts)
        if path.is_file():
            return path
    raise click.ClickException(f"{Path(*parts)} is neither in {places[0]} nor in {places[1]}: install Shipyard again")


@click.command(
    short_help="Run actions, for a real installation. One per site is enough.",
    epilog=examples(
        "shipyard worker",
        "SHIPYARD_CONFIG=/etc/shipyard/night.conf shipyard worker",
        "shipyard worker --sites /etc/shipyard/sites",
        "shipyard worker --probe",
    ),
)
@click.option("--probe", is_flag=True, help="Ask the running worker whether it is alive, and exit 0 or 1.")
@_sites
def worker(**_: object) -> None:
    """Run actions until a signal asks to stop. One per site is enough; several share the work."""
    become("shipyard_api.programs.worker")


@click.command(
    short_help="Run everything here, embedded, until Ctrl-C; data is kept.",
    epilog=examples(
        "shipyard up",
        "shipyard up --port 9000 --provisioner maas",
        "shipyard up --kubernetes --provisioner ironic",
        "shipyard up --data-dir /srv/shipyard --scenario ntp-prepare-fails --speed 20",
    ),
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    show_default=True,
    help="Where to serve on 127.0.0.1; 0 takes a free one.",
)
@click.option(
    "--data-dir",
    type=click.Path(file_okay=False),
    show_default="/var/lib/shipyard for root, else ~/.local/share/shipyard",
    help="Where the data is kept.",
)
@click.option(
    "--provisioner",
    default="drydock",
    show_default=True,
    callback=known_provisioner,
    shell_complete=provisioners,
    help="Which provisioner is simulated: drydock, maas, ironic, or one of an installed plug-in.",
)
@click.option(
    "--site",
    type=click.Path(exists=True, dir_okay=False),
    show_default="five groups, sixteen nodes",
    help="The design whose machines a simulated MAAS or Ironic has; Drydock reads the committed one.",
)
@click.option(
    "--scenario",
    default="calm",
    show_default=True,
    shell_complete=scenarios,
    help="What goes wrong at the simulated site: a name, or a file.",
)
@click.option(
    "--speed",
    type=SPEEDS,
    default=100.0,
    show_default=True,
    help="How many times faster than real hardware. Limits in a design shrink alike; those of an action do not.",
)
@click.option("--kubernetes", is_flag=True, help="Simulate a Kubernetes, too, which deployed machines join.")
@click.option("--ready-file", type=click.Path(dir_okay=False), help="Write the URL and a token here when it serves.")
@click.option(
    "--history", type=click.Path(dir_okay=False), help="Write the history of this run here when the stack stops."
)
def up(**_: object) -> None:
    """Start a Postgres, the API, a worker, a simulated provisioner and simulated hosts; stop them all on Ctrl-C.

    Prints the URL and a first token for SHIPYARD_URL and SHIPYARD_TOKEN. Settings from the environment and from the
    file in SHIPYARD_CONFIG apply; settings of the stack itself, such as the provisioner's address, are refused.
    """
    require_demo_parts()
    become("shipyard_api.programs.stack", "up")


@click.group(
    short_help="The database's schema, for a real installation.",
    epilog=examples("shipyard db upgrade", "shipyard db current", "shipyard db new-key > /etc/shipyard/secrets.key"),
)
def db() -> None:
    """Work on the schema of the database that DATABASE_URL names."""


@click.group(
    short_help="Tokens for callers of the API.",
    epilog=examples("shipyard token create --name jenkins --role admin", "shipyard token list"),
)
def token() -> None:
    """Create, list and revoke API tokens, in the database that DATABASE_URL names."""


@click.group(
    short_help="Simulated peers, each speaking the real one's protocol.",
    epilog=examples("shipyard simulate drydock --port 9001", "shipyard simulate maas --help"),
)
def simulate() -> None:
    """Run a simulated peer: a program that speaks the protocol of the real one."""


@click.group(short_help="The settings of a real installation.", epilog=examples("shipyard config check"))
def config() -> None:
    """Check the settings of this installation."""


@config.command(
    "check",
    short_help="Check the settings and print every fault.",
    epilog=examples("shipyard config check", "shipyard config check --sites /etc/shipyard/sites"),
)
@_sites
def check(**_: object) -> None:
    """Check settings and database as `serve` and `worker` do; show the clocks of the database and of peers."""
    become(_ADMIN, "config", "check")


@db.command(
    "upgrade",
    short_help="Upgrade the schema to this release; may be repeated.",
    epilog=examples("shipyard db upgrade", "shipyard db upgrade --sites /etc/shipyard/sites"),
)
@_sites
def upgrade(**_: object) -> None:
    """Migrate the database to the schema of this release; with --sites, the databases of all sites."""
    become(_ADMIN, "db", "upgrade")


@db.command("current", short_help="Print the schema version of the database.", epilog=examples("shipyard db current"))
def current() -> None:
    """Show the schema of the database and those this release supports; exit 1 if it does not work on it."""
    become(_ADMIN, "db", "current")


@db.command(
    "new-key",
    short_help="Print a new encryption key for documents.",
    epilog=examples("shipyard db new-key > /etc/shipyard/secrets.key"),
)
def new_key() -> None:
    """Print a new key for [secrets] keys. Shipyard keeps no copy of it."""
    become(_ADMIN, "db", "new-key")


@db.command(
    "prune",
    short_help="Delete old actions and revisions.",
    epilog=examples("shipyard db prune --dry-run", "shipyard db prune --days 90"),
)
@click.option("--days", type=click.IntRange(min=1), help="Days to keep what has ended; default: the setting.")
@click.option("--newest", type=click.IntRange(min=1), help="How many of the newest to keep; default: the setting.")
@click.option("--dry-run", is_flag=True, help="Only show how many would be deleted.")
def prune(**_: object) -> None:
    """Delete old actions, with what belongs to them, old revisions, plans and holds; the worker does so now and then.

    Kept are the newest ones, those since the last successful site action, the last action of each node, and of
    revisions those of actions and the newest with each tag.
    """
    become(_ADMIN, "db", "prune")


@db.command(
    "rotate-secrets",
    short_help="Reencrypt every secret with the newest key.",
    epilog=examples("shipyard db rotate-secrets"),
)
def rotate_secrets() -> None:
    """Reencrypt every secret with the first key; afterwards the other keys can go. Exit 1 if a secret has no key.

    The service may run meanwhile if it has all the keys. The command is safe to interrupt and repeat.
    """
    become(_ADMIN, "db", "rotate-secrets")


@token.command(
    "create",
    short_help="Create a token and print it once.",
    epilog=examples(
        "shipyard token create --name jenkins --role admin",
        "shipyard token create --name 'night shift' --days 30",
    ),
)
@click.option("--name", required=True, help="Name of the token; shown as the user of its actions.")
@click.option(
    "--role",
    "roles",
    multiple=True,
    default=("viewer",),
    show_default=True,
    help="Role of the token: admin, admin_ucp, admin_ucp_viewer, viewer, peer, health, or one of your policy file. "
    "May be repeated.",
)
@click.option("--days", type=click.IntRange(min=1, max=3650), help="Days until the token expires; never by default.")
def create(**_: object) -> None:
    """Create a token and print its secret. The secret is not stored and cannot be shown again."""
    become(_ADMIN, "token", "create")


@token.command(
    "list", short_help="List tokens: names and dates, never the tokens.", epilog=examples("shipyard token list")
)
def list_tokens() -> None:
    """List all tokens, without their secrets."""
    become(_ADMIN, "token", "list")


@token.command(
    "revoke",
    short_help="Revoke a token.",
    epilog=examples("shipyard token revoke 01ARZ3NDEKTSV4RRFFQ69G5FAV"),
)
@click.argument("token_id")
def revoke(**_: object) -> None:
    """Revoke a token. API processes that have it cached accept it up to [identity] token_cache_seconds longer (2 by
    default).
    """
    become(_ADMIN, "token", "revoke")


for _name, _summary in {
    "deckhand": "A Deckhand that keeps documents.",
    "drydock": "A Drydock with a site behind it.",
    "etcd": "An etcd cluster whose members come and go.",
    "hosts": "Hosts that run tasks over SSH.",
    "ironic": "An Ironic with nodes in memory.",
    "kubernetes": "A Kubernetes cluster that nodes join.",
    "maas": "A MAAS region with simulated machines.",
    "nailgun": "A nailgun, the server of Fuel, to import from.",
    "promenade": "A Promenade that takes nodes apart.",
}.items():
    simulate.add_command(_simulator(_name, _summary))
