"""Administer an installation: ``python -m shipyard_api.programs.admin db|token|config …``.

The command line starts this program for `shipyard db`, `shipyard token` and `shipyard config`. It works on the database
directly, so it needs no running API.
"""

import os
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import click

from shipyard_api.adapters.encryption.fernet import new_key
from shipyard_api.domain.policy import ANYONE, SUGGESTED_ROLES
from shipyard_api.ports.state.errors import StoreUnavailable, UnsuitableDatabase
from shipyard_api.programs import launch
from shipyard_api.storage import migrations, schema
from shipyard_api.storage.schema import check_database, schema_of
from shipyard_api.storage.unit_of_work import connect
from shipyard_api.usecases.retention import NOTHING, Pruned, PruneHistory
from shipyard_api.usecases.tokens import ApiTokens
from shipyard_api.wiring import design_stores
from shipyard_api.wiring.settings import Settings, SettingsError, load, share_directory, unknown_variables
from shipyard_api.wiring.site_files import load_process, load_sites

_MOST_SKEW = 300.0  # seconds (product, section 10, Clocks)


@click.group()
def main() -> None:
    """Administer a Shipyard installation."""


@main.group()
def db() -> None:
    """The database schema."""


@db.command()
@launch.SITES
def upgrade(sites: str | None) -> None:
    """Migrate the database to the schema of this release; with --sites, the databases of all sites."""
    if sites:
        _for_each_site(sites, lambda settings: _upgrade(settings.database.url))
    else:
        click.echo(_upgrade(_database()))


@db.command()
def current() -> None:
    """Show the schema of the database and those this release supports; exit 1 if it does not work on it."""
    applied, usable_from = schema_of(_database())
    known = f" (usable by releases from {usable_from} on)" if schema.is_newer(applied) and usable_from else ""
    click.echo(f"database is at {applied or 'nothing'}{known}, this release supports {schema.supported()}")
    try:
        schema.check(applied, usable_from)
    except UnsuitableDatabase:
        raise SystemExit(1) from None


@db.command()
@click.option("--days", type=click.IntRange(min=1), help="Days to keep what has ended; default: the setting.")
@click.option("--newest", type=click.IntRange(min=1), help="How many of the newest to keep; default: the setting.")
@click.option("--dry-run", is_flag=True, help="Only show how many would be deleted.")
def prune(days: int | None, newest: int | None, dry_run: bool) -> None:
    """Delete old actions, with what belongs to them, old revisions, plans and holds; the worker does so now and then.

    Kept are the newest ones, those since the last successful site action, the last action of each node, and of
    revisions those of actions and the newest with each tag.
    """
    from shipyard_api.actions.catalog import ACTIONS

    settings = load(os.environ)
    url, kept = _database(), settings.actions
    check_database(url)
    store, keep = launch.store(settings), days or int(kept.keep_days)
    if not keep:
        raise SettingsError(["[actions] keep_days is 0, which keeps all actions and revisions; give --days"])
    old = PruneHistory(store, lambda: datetime.now(UTC), keep, newest or int(kept.keep_newest), ACTIONS.of_the_site)
    if dry_run:
        click.echo(f"{_counted(old.expired())} would be deleted")
        return
    deleted = NOTHING
    while any(batch := old.batch()):
        deleted = Pruned(*map(sum, zip(deleted, batch, strict=True)))
    click.echo(f"{_counted(deleted)} deleted")


def _counted(pruned: Pruned) -> str:
    return (
        f"{pruned.actions} action(s), {pruned.revisions} revision(s), {pruned.plans} stored plan(s) "
        f"and {pruned.holds} hold(s)"
    )


@db.command("new-key")
def make_key() -> None:
    """Print a new key for [secrets] keys. Shipyard keeps no copy of it."""
    click.echo(new_key())


@db.command("rotate-secrets")
def rotate_secrets() -> None:
    """Reencrypt every secret with the first key; afterwards the other keys can go. Exit 1 if a secret has no key.

    The service may run meanwhile if it has all the keys. The command is safe to interrupt and repeat.
    """
    settings = load(os.environ)
    if not settings.secrets.newest_first():
        raise SettingsError(["[secrets] keys is not set: there is no key to encrypt with"])
    designs = design_stores.embedded_designs(settings)
    check_database(settings.database.url)
    report = designs.rotate()
    click.echo(f"{report.reencrypted} reencrypted, {report.newest} already had the newest key")
    if report.undecryptable:
        shown = ", ".join(report.examples)
        click.echo(f"{report.undecryptable} cannot be decrypted with any of the keys: {shown}", err=True)
        raise SystemExit(1)


@main.group()
def token() -> None:
    """API tokens."""


@token.command()
@click.option("--name", required=True, help="Name of the token; shown as the user of its actions.")
@click.option(
    "--role",
    "roles",
    multiple=True,
    default=("viewer",),
    show_default=True,
    help=f"Role of the token: {', '.join(SUGGESTED_ROLES)}, or one of your policy file. May be repeated.",
)
@click.option("--days", type=click.IntRange(min=1, max=3650), help="Days until the token expires; never by default.")
def create(name: str, roles: tuple[str, ...], days: int | None) -> None:
    """Create a token and print its secret. The secret is not stored and cannot be shown again."""
    lifetime = timedelta(days=days) if days else None
    _record, secret = _tokens(load(os.environ)).create(name, *roles, lifetime=lifetime)
    for role in roles:
        if role not in (*SUGGESTED_ROLES, ANYONE):
            click.echo(f"Warning: no default rule uses the role {role}; it needs a policy file that does", err=True)
    click.echo(secret)


@token.command("list")
def list_tokens() -> None:
    """List all tokens, without their secrets."""
    now = datetime.now(UTC)
    rows: list[tuple[str, ...]] = [("ID", "STATE", "ROLES", "CREATED", "EXPIRES", "LAST USED", "NAME")]
    for record in _tokens(load(os.environ)).all():
        expired = record.expires_at is not None and record.expires_at <= now
        state = "revoked" if record.revoked_at else "expired" if expired else "valid"
        moments = (record.created_at, record.expires_at, record.last_used_at)
        rows.append((record.id, state, ",".join(record.roles), *map(_moment, moments), record.name))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


@token.command()
@click.argument("token_id")
def revoke(token_id: str) -> None:
    """Revoke a token. API processes that have it cached accept it up to [identity] token_cache_seconds longer (2 by
    default).
    """
    settings = load(os.environ)
    _tokens(settings).revoke(token_id)
    seconds = settings.identity.token_cache_seconds
    # The settings of the API may differ from those of this process.
    until = f"; API processes that have it cached accept it for up to {seconds:g} s more" if seconds else ""
    click.echo(f"{token_id} is revoked{until}")


@main.group()
def config() -> None:
    """The settings of this installation."""


@config.command()
@launch.SITES
def check(sites: str | None) -> None:
    """Check settings and database as `serve` and `worker` do; show the clocks of the database and of peers."""
    if sites:
        load_process(os.environ)
        _for_each_site(sites, _check)
    else:
        _check(load(os.environ))
        for name in unknown_variables(os.environ):
            click.echo(f"Warning: {name} is no setting", err=True)
        click.echo("settings are fine")


def _check(settings: Settings) -> str:
    from shipyard_api.wiring import bootstrap, monitoring  # no other command needs them

    parts = bootstrap.check(settings)
    check_database(settings.database.url)
    if not settings.secrets.newest_first():
        click.echo("Warning: [secrets] keys is not set: designs with encrypted documents are refused", err=True)
    if finding := parts.store.read(lambda tx: tx.measures.replication()).finding:
        click.echo(f"Warning: {finding}", err=True)
    skew = monitoring.clock_skew(settings, parts.provisioner.name, parts.clock.ahead_of_host)
    for name, ahead in skew.measure().items():
        if ahead is None:
            click.echo(f"clock of {name}: no answer")
        else:
            click.echo(f"clock of {name}: {ahead:+.1f} s from this host")
            if abs(ahead) > _MOST_SKEW:
                click.echo(f"Warning: the clock of {name} is off by more than 5 minutes: use NTP", err=True)
    return "settings are fine"


def _upgrade(url: str) -> str:
    directory = share_directory() / "migrations"
    applied = check_database(url, any_schema=True)
    if schema.is_newer(applied):
        return f"database is at {applied} of a newer release, which this one works on: nothing to do"
    engine = connect(url, pool_size=1)
    try:
        migrations.upgrade(engine, directory)
    finally:
        engine.dispose()
    return f"database is at {migrations.head(directory)}"


def _for_each_site(directory: str, work: Callable[[Settings], str]) -> None:
    """Do a piece of work for every site of a directory, and print its result; exit 1 if it failed for one."""
    failed = False
    for name, settings in load_sites(directory).items():
        try:
            if isinstance(settings, SettingsError):
                raise settings
            click.echo(f"{name}:")
            click.echo(work(settings))
        except (SettingsError, UnsuitableDatabase, StoreUnavailable) as error:
            failed = True
            for fault in error.faults if isinstance(error, SettingsError) else [str(error)]:
                click.echo(f"Error: {name}: {fault}", err=True)
    if failed:
        raise SystemExit(1)


def _moment(moment: datetime | None) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M}Z" if moment else "never"


def _tokens(settings: Settings) -> ApiTokens:
    tokens = launch.tokens(settings)
    check_database(settings.database.url)
    return tokens


def _database() -> str:
    url = load(os.environ).database.url
    if not url:
        raise SettingsError(["DATABASE_URL is not set"])
    return url


if __name__ == "__main__":
    sys.exit(launch.run_program(lambda: main(prog_name="shipyard")))
