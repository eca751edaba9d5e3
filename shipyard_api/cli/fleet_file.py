"""The file of a fleet: the sites that ``shipyard fleet`` reads side by side, without any secret in it."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from shipyard_api.cli.output.wording import yaml_fault

_LARGEST = 1024 * 1024  # bytes
_MOST = 500  # sites
_SHOWN = 60  # characters
_KEYS = frozenset({"name", "url", "token_env", "token_file"})


@dataclass(frozen=True, slots=True)
class FleetSite:
    """A site of a fleet. ``token`` is empty for a server that wants none. ``shares_login``: of the caller's server."""

    name: str
    url: str
    token: str = field(default="", repr=False)
    shares_login: bool = False


def read_fleet(path: Path, environment: Mapping[str, str] = os.environ) -> list[FleetSite]:
    """Return the sites of a file, in its order. A file that cannot be used is a usage error that names all its faults.

    A relative ``token_file`` is beside the file.
    """
    faults: list[str] = []
    sites = [_site(entry, number, path.parent, environment, faults) for number, entry in enumerate(_entries(path), 1)]
    names = [site.name for site in sites]
    faults += [f"the name {name} occurs twice" for name in dict.fromkeys(names) if name and names.count(name) > 1]
    if faults:
        raise click.UsageError(f"{path}: {'; '.join(faults)}")
    return sites


def _entries(path: Path) -> list[Any]:
    import yaml

    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST + 1)
        if len(content) > _LARGEST:
            raise click.UsageError(f"{path} is larger than {_LARGEST} bytes.")
        fleet = yaml.safe_load(content)
    except OSError as error:
        raise click.UsageError(f"{path} cannot be read: {error.strerror or error}.") from error
    except (yaml.YAMLError, RecursionError) as error:
        raise click.UsageError(f"{path} is not YAML: {yaml_fault(error)}") from error
    entries = fleet.get("sites") if isinstance(fleet, dict) else None
    if not isinstance(entries, list) or not 0 < len(entries) <= _MOST:
        raise click.UsageError(
            f"{path} names no sites: write a list `sites`, of at most {_MOST}, each with name, url, and token_env or "
            "token_file"
        )
    return entries


def _site(entry: Any, number: int, directory: Path, environment: Mapping[str, str], faults: list[str]) -> FleetSite:
    where = f"sites[{number}]"
    if not isinstance(entry, dict):
        faults.append(f"{where} is no mapping")
        return FleetSite("", "")
    values = {key: str(value) for key, value in entry.items() if value is not None}
    if "token" in entry:
        faults.append(f"{where} holds a token: name the variable (token_env) or the file (token_file) that has it")
    elif unknown := sorted(map(str, entry.keys() - _KEYS)):
        faults.append(f"{where} has unknown keys: {', '.join(unknown)}")
    faults += [f"{where} has no {key}" for key in ("name", "url") if not values.get(key)]
    if (url := values.get("url")) and not re.match(r"https?://[^/\s]", url):
        faults.append(f"{where}: the url {url[:_SHOWN]} does not begin with http:// or https:// and a host")
    token = ""
    if variable := values.get("token_env"):
        token = environment.get(variable, "")
        if not token:
            faults.append(f"{where}: the variable {variable} is not set")
    if file := values.get("token_file"):
        try:
            token = (directory / Path(file).expanduser()).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError, RuntimeError) as error:
            why = error.strerror if isinstance(error, OSError) and error.strerror else error
            faults.append(f"{where}: token_file {file} cannot be read: {why}")
    if "token_env" in values and "token_file" in values:
        faults.append(f"{where} has both token_env and token_file")
    return FleetSite(values.get("name", ""), values.get("url", ""), token)
