"""Looking after an installation: ``python -m shipyard_api.admin db|token|config …``.

The command line starts this program for `shipyard db`, `shipyard token` and `shipyard config`: they work on the
database itself, before there is any API to ask.
"""

import os
import sys
from datetime import timedelta

import click

from shipyard_api import bootstrap
from shipyard_api.adapters.sealed.seals import new_key
from shipyard_api.settings import SettingsError, load, share_directory
from shipyard_api.storage import migrations
from shipyard_api.storage.unit_of_work import connect
from shipyard_api.usecases.tokens import ROLES


@click.group()
def main() -> None:
    """Look after a Shipyard installation."""


@main.group()
def db() -> None:
    """The database's schema."""


@db.command()
def upgrade() -> None:
    """Bring the database to the schema of this release."""
    directory = share_directory() / "migrations"
    migrations.upgrade(connect(_database(), pool_size=1), directory)
    click.echo(f"database is at {migrations.head(directory)}")


@db.command()
def current() -> None:
    """Show which migration the database stands at; exit 1 if it is not the newest."""
    newest = migrations.head(share_directory() / "migrations")
    stands = migrations.current(connect(_database(), pool_size=1))
    click.echo(f"database is at {stands or 'nothing'}, this release needs {newest}")
    if stands != newest:
        raise SystemExit(1)


@db.command("new-key")
def make_key() -> None:
    """Print a new key for [secrets] keys, which nobody has seen before and nobody keeps for you."""
    click.echo(new_key())


@db.command("rotate-secrets")
def rotate_secrets() -> None:
    """Encrypt every secret anew with the first of the keys; the others can go afterwards. Exit 1 if some stay behind.

    The service may run meanwhile, provided it knows all the keys; to break off and begin again does no harm.
    """
    settings = load(os.environ)
    if not settings.secrets.all():
        raise SettingsError(["[secrets] keys is not set: there is nothing to encrypt with"])
    report = bootstrap.embedded_designs(settings).rotate()
    click.echo(f"{report.resealed} encrypted anew, {report.newest} had the newest key already")
    if report.locked:
        shown = ", ".join(report.named)
        click.echo(f"{report.locked} cannot be opened with any of the keys: {shown}", err=True)
        raise SystemExit(1)


@main.group()
def token() -> None:
    """API tokens."""


@token.command()
@click.option("--name", required=True, help="Who the token is for; shown as the user of what it does.")
@click.option("--role", type=click.Choice(ROLES), default="viewer", show_default=True)
@click.option("--days", type=click.IntRange(min=1, max=3650), help="Days until it expires; without it, never.")
def create(name: str, role: str, days: int | None) -> None:
    """Make a token and print its secret, which is not stored and cannot be shown again."""
    lifetime = timedelta(days=days) if days else None
    _made, secret = bootstrap.tokens(load(os.environ)).create(name, role, lifetime)
    click.echo(secret)


@token.command("list")
def list_tokens() -> None:
    """Show all tokens, without their secrets."""
    for one in bootstrap.tokens(load(os.environ)).all():
        state = "revoked" if one.revoked_at else f"expires {one.expires_at:%Y-%m-%d}" if one.expires_at else "valid"
        click.echo(f"{one.id}  {one.role:<7}  {one.created_at:%Y-%m-%d %H:%M}  {state:<18}  {one.name}")


@token.command()
@click.argument("token_id")
def revoke(token_id: str) -> None:
    """Make a token worthless at once."""
    bootstrap.tokens(load(os.environ)).revoke(token_id)
    click.echo(f"{token_id} is revoked")


@main.group()
def config() -> None:
    """The settings of this installation."""


@config.command()
def check() -> None:
    """Read the settings as the service would, and say everything that is wrong with them."""
    bootstrap.parts(load(os.environ))
    click.echo("settings are fine")


def _database() -> str:
    url = load(os.environ).database.url
    if not url:
        raise SettingsError(["DATABASE_URL is not set"])
    return url


if __name__ == "__main__":
    sys.exit(bootstrap.run_program(main))
