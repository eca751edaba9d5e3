"""Looking after an installation: ``python -m shipyard_api.admin db|token|config …``.

The command line starts this program for `shipyard db`, `shipyard token` and `shipyard config`: they work on the
database itself, before there is any API to ask.
"""

import os
import sys
from datetime import UTC, datetime, timedelta

import click

from shipyard_api import bootstrap
from shipyard_api.adapters.encryption.fernet import new_key
from shipyard_api.domain.policy import ANYONE, SUGGESTED_ROLES
from shipyard_api.settings import SettingsError, load, share_directory
from shipyard_api.storage import migrations
from shipyard_api.storage.unit_of_work import connect


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
    if not settings.secrets.newest_first():
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
@click.option(
    "--role",
    "roles",
    multiple=True,
    default=("viewer",),
    show_default=True,
    help=f"What it may do: {', '.join(SUGGESTED_ROLES)}, or what your policy file names. May be repeated.",
)
@click.option("--days", type=click.IntRange(min=1, max=3650), help="Days until it expires; without it, never.")
def create(name: str, roles: tuple[str, ...], days: int | None) -> None:
    """Make a token and print its secret, which is not stored and cannot be shown again."""
    lifetime = timedelta(days=days) if days else None
    _made, secret = bootstrap.tokens(load(os.environ)).create(name, *roles, lifetime=lifetime)
    for role in roles:
        if role not in (*SUGGESTED_ROLES, ANYONE):
            click.echo(f"Warning: no rule of ours names the role {role}; it takes a policy file that does", err=True)
    click.echo(secret)


@token.command("list")
def list_tokens() -> None:
    """Show all tokens, without their secrets."""
    now = datetime.now(UTC)
    rows: list[tuple[str, ...]] = [("ID", "STATE", "ROLES", "CREATED", "EXPIRES", "LAST USED", "NAME")]
    for one in bootstrap.tokens(load(os.environ)).all():
        expired = one.expires_at is not None and one.expires_at <= now
        state = "revoked" if one.revoked_at else "expired" if expired else "valid"
        moments = (one.created_at, one.expires_at, one.last_used_at)
        rows.append((one.id, state, ",".join(one.roles), *map(_moment, moments), one.name))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


@token.command()
@click.argument("token_id")
def revoke(token_id: str) -> None:
    """Make a token useless. A process of the API that has just looked it up takes it a little longer: [identity]
    token_cache_seconds, 2 unless set.
    """
    settings = load(os.environ)
    bootstrap.tokens(settings).revoke(token_id)
    seconds = settings.identity.token_cache_seconds
    # The API may have been told otherwise than this process; what we know is what these settings say.
    until = f"; a process that has just looked it up takes it for up to {seconds:g} s more" if seconds else ""
    click.echo(f"{token_id} is revoked{until}")


@main.group()
def config() -> None:
    """The settings of this installation."""


@config.command()
def check() -> None:
    """Read the settings as the service would, and say everything that is wrong with them."""
    settings = load(os.environ)
    bootstrap.identities(settings, bootstrap.parts(settings).store)
    bootstrap.policy(settings)
    click.echo("settings are fine")


def _moment(moment: datetime | None) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M}Z" if moment else "never"


def _database() -> str:
    url = load(os.environ).database.url
    if not url:
        raise SettingsError(["DATABASE_URL is not set"])
    return url


if __name__ == "__main__":
    sys.exit(bootstrap.run_program(lambda: main(prog_name="shipyard")))
