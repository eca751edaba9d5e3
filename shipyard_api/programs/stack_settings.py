"""The settings that the caller of `shipyard up` gives to the embedded stack."""

import os
import sys
from collections.abc import Mapping

import click

from shipyard_api.wiring.settings import DEFAULT_FILE, as_variables, load

# Of the command line, the file whose settings are read, and the directory of many sites: the stack has one.
_NOT_SETTINGS = frozenset({"SHIPYARD_URL", "SHIPYARD_TOKEN", "SHIPYARD_CONFIG", "SHIPYARD_SITES"})
# Settings that the stack always sets, and what to do instead.
_OWN = {
    "SHIPYARD_BIND": "use --port",
    "SHIPYARD_DATABASE_URL": "use DATABASE_URL",
    "SHIPYARD_PROVISIONER_KIND": "use --provisioner",
    "SHIPYARD_DRYDOCK_DESIGN_URL": "Drydock fetches designs from this stack",
}

# A site that is played faster than this has a worker that does everything that takes real time more often.
_MOST_AS_INSTALLED = 30.0
_HURRIED_WORKER = {
    "SHIPYARD_WORKER_HEARTBEAT_SECONDS": "1",
    "SHIPYARD_WORKER_STALLED_SECONDS": "4",
    "SHIPYARD_WORKER_SWEEP_SECONDS": "2",
    "SHIPYARD_WORKER_OVERDUE_SECONDS": "4",
}


def given_settings(environ: Mapping[str, str], provisioner: str, *, kubernetes: bool = False) -> dict[str, str]:
    """Return the caller's settings as variables: those of the environment, and of the file in SHIPYARD_CONFIG.

    Raises UsageError for those that the stack sets itself, and SettingsError.
    """
    load({**environ, "SHIPYARD_CONFIG": environ.get("SHIPYARD_CONFIG") or os.devnull})
    given: dict[str, str] = {}
    if environ.get("SHIPYARD_CONFIG"):
        given = as_variables(environ)
    elif DEFAULT_FILE.is_file():
        click.echo(
            f"{DEFAULT_FILE} is not read: it is for a real installation. To use it here, name it in SHIPYARD_CONFIG."
        )
    given |= {
        name: text for name, text in environ.items() if name.startswith("SHIPYARD_") and name not in _NOT_SETTINGS
    }
    system = provisioner.upper()
    reserved = {
        **_OWN,
        f"SHIPYARD_{system}_URL": "a simulator is used",
        **{f"SHIPYARD_{system}_{name}": "a simulator is used" for name in ("API_KEY", "AUTH", "USER", "PASSWORD")},
    }
    if kubernetes:
        reserved |= {f"SHIPYARD_KUBERNETES_{name}": "leave out --kubernetes" for name in ("URL", "KUBECONFIG")}
    refused = [f"{name}: {reserved[name]}" for name in sorted(given.keys() & reserved.keys())]
    # Beside an OpenID provider, the token that it prints works as well.
    if given.get("SHIPYARD_IDENTITY_KIND", "token") not in ("token", "oidc"):
        refused.append("SHIPYARD_IDENTITY_KIND: callers have the token that it prints")
    if refused:
        raise click.UsageError("\n  ".join(["shipyard up cannot use these settings; take them out:", *refused]))
    return given


def simulates_hosts(given: Mapping[str, str]) -> bool:
    """Return whether the stack simulates hosts: not if the caller's settings reach real ones."""
    return "SHIPYARD_SSH_KEY_FILE" not in given and sys.platform == "linux"


def worker_intervals(speed: float) -> Mapping[str, str]:
    """Return the settings of a worker whose site runs faster by a factor; empty if the defaults fit."""
    return _HURRIED_WORKER if speed > _MOST_AS_INSTALLED else {}
