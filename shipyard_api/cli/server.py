"""Commands that start a program of ours in place of this one: the parts of an installation, one by one.

They only build a command line. What the options mean is the program's to say, so ``--help`` goes there, too.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import click

from shipyard_api.cli.words import examples

_PASSED_ON = {"ignore_unknown_options": True, "allow_interspersed_args": False}


def run(module: str, arguments: Sequence[str]) -> NoReturn:
    """Become ``python -m module arguments``."""
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execv(sys.executable, [sys.executable, "-m", module, *arguments])  # noqa: S606 - a fixed list, no shell
    except OSError as error:
        raise click.ClickException(f"cannot start {module} with {sys.executable}: {error.strerror}") from error


def _program(name: str, module: str, words: Sequence[str], summary: str) -> click.Command:
    """Return a command that hands all of its arguments to a program."""

    @click.command(name, context_settings=_PASSED_ON, add_help_option=False, short_help=summary, help=summary)
    @click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
    def command(arguments: tuple[str, ...]) -> None:
        run(module, [*words, *arguments])

    return command


@click.command(
    context_settings=_PASSED_ON,
    short_help="Serve the REST API, for a real installation.",
    epilog=examples("shipyard serve", "shipyard serve --bind 0.0.0.0:9000 --workers 4"),
)
@click.argument("gunicorn", nargs=-1, type=click.UNPROCESSED)
def serve(gunicorn: tuple[str, ...]) -> None:
    """Serve the REST API with gunicorn; further arguments are gunicorn's, such as --bind 0.0.0.0:9000."""
    configuration = share("etc", "gunicorn.conf.py")
    run("gunicorn", ["--no-control-socket", "-c", str(configuration), *gunicorn, "shipyard_api.wsgi:app"])


def share(*parts: str) -> Path:
    """Return a file that ships beside the package: in the checkout, else under the installation's prefix."""
    places = (Path(__file__).parents[2], Path(sys.prefix, "share", "shipyard"))
    for place in places:
        path = place.joinpath(*parts)
        if path.is_file():
            return path
    raise click.ClickException(f"{Path(*parts)} is neither in {places[0]} nor in {places[1]}: install Shipyard again")


worker = _program("worker", "shipyard_api.worker", (), "Run actions, for a real installation. One per site is enough.")


@click.command(
    short_help="Run everything here, embedded, until Ctrl-C; data is kept.",
    epilog=examples(
        "shipyard up",
        "shipyard up --port 9000 --provisioner maas",
        "shipyard up --data-dir /srv/shipyard --scenario ntp-prepare-fails --speed 20",
    ),
)
@click.option("--port", type=click.IntRange(0, 65535), help="Where to serve; 0 takes a free one.")
@click.option("--data-dir", type=click.Path(file_okay=False), help="Where the data is kept.")
@click.option("--provisioner", help="Which provisioner is simulated: drydock, maas or ironic.")
@click.option(
    "--site", type=click.Path(dir_okay=False), help="The design whose machines a simulated MAAS or Ironic has."
)
@click.option("--scenario", type=click.Path(), help="What goes wrong at the simulated site: a file.")
@click.option("--speed", type=click.FloatRange(min=0, min_open=True), help="How many times faster than real hardware.")
@click.option("--ready-file", type=click.Path(dir_okay=False), help="Write the URL and a token here when it serves.")
def up(**options: object) -> None:
    """Start a Postgres, the API, a worker and a simulated provisioner, and stop them all on Ctrl-C.

    Prints the URL and a first token for SHIPYARD_URL and SHIPYARD_TOKEN.
    """
    arguments = [
        part
        for name, value in options.items()
        if value is not None
        for part in (f"--{name.replace('_', '-')}", f"{value:g}" if isinstance(value, float) else str(value))
    ]
    run("shipyard_api.stack", ["up", *arguments])


@click.group(
    short_help="The database's schema, for a real installation.",
    epilog=examples("shipyard db upgrade", "shipyard db current", "shipyard db new-key > /etc/shipyard/secrets.key"),
)
def db() -> None:
    """Work on the schema of the database that DATABASE_URL names."""


@click.group(
    short_help="Tokens that callers of the API show.",
    epilog=examples("shipyard token create jenkins --role admin", "shipyard token list"),
)
def token() -> None:
    """Make, list and revoke API tokens, in the database that DATABASE_URL names."""


@click.group(
    short_help="Simulated peers, each speaking the real one's protocol.",
    epilog=examples("shipyard simulate drydock --port 9001", "shipyard simulate maas --help"),
)
def simulate() -> None:
    """Run a simulated peer: a program that speaks the protocol of the real one."""


@click.group(short_help="The settings of a real installation.", epilog=examples("shipyard config check"))
def config() -> None:
    """Look at the settings of this installation."""


_ADMIN = "shipyard_api.admin"
config.add_command(_program("check", _ADMIN, ("config", "check"), "Read the settings and say all that is wrong."))
db.add_command(_program("upgrade", _ADMIN, ("db", "upgrade"), "Bring the schema to this release; may be repeated."))
db.add_command(_program("current", _ADMIN, ("db", "current"), "Say which schema the database has."))
db.add_command(_program("new-key", _ADMIN, ("db", "new-key"), "Print a new key to encrypt documents with."))
db.add_command(
    _program("rotate-secrets", _ADMIN, ("db", "rotate-secrets"), "Encrypt every secret anew with the newest key.")
)
token.add_command(_program("create", _ADMIN, ("token", "create"), "Make a token and print it, this once."))
token.add_command(_program("list", _ADMIN, ("token", "list"), "List tokens: names and dates, never the tokens."))
token.add_command(_program("revoke", _ADMIN, ("token", "revoke"), "Make a token useless from now on."))
simulate.add_command(_program("deckhand", "shipyard_api.simulators.deckhand", (), "A Deckhand that keeps documents."))
simulate.add_command(_program("drydock", "shipyard_api.simulators.drydock", (), "A Drydock with a site behind it."))
simulate.add_command(_program("ironic", "shipyard_api.simulators.ironic", (), "An Ironic with nodes in memory."))
simulate.add_command(
    _program("kubernetes", "shipyard_api.simulators.kubernetes", (), "A Kubernetes cluster that nodes join.")
)
simulate.add_command(_program("maas", "shipyard_api.simulators.maas", (), "A MAAS region with simulated machines."))
