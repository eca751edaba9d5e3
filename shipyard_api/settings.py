"""Settings of the service: one file, the environment over it, all faults at once.

The file is an INI file named by ``SHIPYARD_CONFIG`` (or ``/etc/shipyard/shipyard.conf`` if it is there). Each setting
can be given as ``SHIPYARD_<SECTION>_<NAME>``; ``DATABASE_URL`` is the database's address.
"""

import configparser
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from pathlib import Path
from typing import Any, get_type_hints

from shipyard_api.adapters.deckhand.options import DeckhandOptions
from shipyard_api.adapters.drydock.options import DrydockOptions
from shipyard_api.adapters.encryption.options import EncryptionOptions
from shipyard_api.adapters.identity.options import IdentityOptions
from shipyard_api.adapters.ironic.options import IronicOptions
from shipyard_api.adapters.keystone.options import KeystoneOptions
from shipyard_api.adapters.kubernetes.options import KubernetesOptions
from shipyard_api.adapters.maas.options import MaasOptions
from shipyard_api.adapters.oslo_policy.options import PolicyOptions
from shipyard_api.adapters.procrastinate.options import WorkerOptions
from shipyard_api.adapters.promenade.options import PromenadeOptions
from shipyard_api.setting_types import Count, Secret

DEFAULT_FILE = Path("/etc/shipyard/shipyard.conf")


class SettingsError(Exception):
    """Settings that cannot be used; ``faults`` names every one of them and where it was given."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__("; ".join(faults))
        self.faults = faults


@dataclass(frozen=True, slots=True)
class DatabaseOptions:
    """``url``: a Postgres, as libpq writes it. ``pool_size``: connections that one process keeps open."""

    url: Secret = Secret("")  # noqa: RUF009  # immutable
    pool_size: int = 8


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """How turns behave; all times in seconds.

    ``settle_seconds``: how long a request to a peer may be on its way before anybody looks what became of it. At least
    twice Drydock's connect timeout, so that no submission can arrive after that look.
    ``time_scale``: how long a second of a site's limits lasts; anything but 1 is for simulated sites.
    ``question_seconds``: how long a peer that does not answer a question is asked again.
    ``question_pause_seconds``: the pause between two such attempts.
    """

    settle_seconds: float = 30.0
    time_scale: float = 1.0
    question_seconds: float = 300.0
    question_pause_seconds: float = 10.0


class ProvisionerKind(Enum):
    """What turns the site's machines into servers."""

    DRYDOCK = "drydock"
    MAAS = "maas"
    IRONIC = "ironic"


@dataclass(frozen=True, slots=True)
class ProvisionerOptions:
    """``kind``: who provisions the machines: drydock, maas or ironic; the section of that name says where it is."""

    kind: ProvisionerKind = ProvisionerKind.DRYDOCK


class DesignStoreKind(Enum):
    """Where documents are kept."""

    EMBEDDED = "embedded"
    DECKHAND = "deckhand"


@dataclass(frozen=True, slots=True)
class DesignStoreOptions:
    """``store``: where documents are kept, embedded (in our own database) or deckhand."""

    store: DesignStoreKind = DesignStoreKind.EMBEDDED


class Severity(Enum):
    """How much it matters that something is missing."""

    SKIP = "Skip"
    INFO = "Info"
    WARNING = "Warning"
    ERROR = "Error"


@dataclass(frozen=True, slots=True)
class ValidationOptions:
    """How much it matters that a design does not say which version it is: Skip, Info, Warning or Error.

    ``deployment_version_create``: when documents are loaded.
    ``deployment_version_commit``: when they are committed, and when an action is created.
    """

    deployment_version_create: Severity = Severity.SKIP
    deployment_version_commit: Severity = Severity.SKIP


@dataclass(frozen=True, slots=True)
class DocumentInfoOptions:
    """The document that says which version a design is.

    ``deployment_version_name``: its name.
    ``deployment_version_schema``: its schema.
    """

    deployment_version_name: str = "deployment-version"
    deployment_version_schema: str = "pegleg/DeploymentData/v1"


@dataclass(frozen=True, slots=True)
class ApiOptions:
    """What the API takes of one caller.

    ``design_bytes``: the largest body of a load.
    ``json_bytes``: the largest body of any other request.
    ``writes_per_minute``: how many requests that change something one caller may send in the long run; 0: no limit.
    ``writes_burst``: how many of them at once, after a pause.
    """

    design_bytes: int = 32 * 1024 * 1024
    json_bytes: int = 1024 * 1024
    writes_per_minute: Count = Count(300)  # noqa: RUF009  # immutable
    writes_burst: int = 100


@dataclass(frozen=True, slots=True)
class LogOptions:
    """What is told on stdout, a JSON object a line.

    ``level``: DEBUG, INFO, WARNING or ERROR.
    ``audit_file``: a file for the audit log, one line for each request that would change something; empty: stdout.
    """

    level: str = "INFO"
    audit_file: str = ""


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything, by section of the file."""

    database: DatabaseOptions = field(default_factory=DatabaseOptions)
    engine: EngineOptions = field(default_factory=EngineOptions)
    worker: WorkerOptions = field(default_factory=WorkerOptions)
    provisioner: ProvisionerOptions = field(default_factory=ProvisionerOptions)
    drydock: DrydockOptions = field(default_factory=DrydockOptions)
    maas: MaasOptions = field(default_factory=MaasOptions)
    ironic: IronicOptions = field(default_factory=IronicOptions)
    keystone: KeystoneOptions = field(default_factory=KeystoneOptions)
    identity: IdentityOptions = field(default_factory=IdentityOptions)
    policy: PolicyOptions = field(default_factory=PolicyOptions)
    designs: DesignStoreOptions = field(default_factory=DesignStoreOptions)
    deckhand: DeckhandOptions = field(default_factory=DeckhandOptions)
    secrets: EncryptionOptions = field(default_factory=EncryptionOptions)
    promenade: PromenadeOptions = field(default_factory=PromenadeOptions)
    kubernetes: KubernetesOptions = field(default_factory=KubernetesOptions)
    validations: ValidationOptions = field(default_factory=ValidationOptions)
    document_info: DocumentInfoOptions = field(default_factory=DocumentInfoOptions)
    api: ApiOptions = field(default_factory=ApiOptions)
    log: LogOptions = field(default_factory=LogOptions)


def load(environ: Mapping[str, str]) -> Settings:
    """Return the settings; raises SettingsError with every fault."""
    faults: list[str] = []
    given = _from_file(environ, faults)
    sections: dict[str, Any] = {}
    for section in fields(Settings):
        kind = get_type_hints(Settings)[section.name]
        values = given.pop(section.name, {})
        for setting in fields(kind):
            variable = f"SHIPYARD_{section.name}_{setting.name}".upper()
            if variable in environ:
                values[setting.name] = (environ[variable], variable)
        if section.name == "database" and environ.get("DATABASE_URL"):
            values["url"] = (environ["DATABASE_URL"], "DATABASE_URL")
        sections[section.name] = _section(kind, section.name, values, faults)
    faults.extend(f"there is no section [{name}]" for name in given)
    if faults:
        raise SettingsError(faults)
    return Settings(**sections)


def share_directory() -> Path:
    """Return where schemas and migrations are: in the checkout, else where the installed wheel put its data."""
    checkout = Path(__file__).resolve().parent.parent
    candidates = [
        checkout,
        Path(sysconfig.get_path("data")) / "share" / "shipyard",
        Path(sys.prefix) / "share" / "shipyard",
        Path.home() / ".local" / "share" / "shipyard",
    ]
    for candidate in candidates:
        if (candidate / "schemas" / "deployment_strategy_v1.yaml").is_file():
            return candidate
    looked = ", ".join(map(str, candidates))
    raise SettingsError([f"the files that come with Shipyard are in none of {looked}; install it again"])


_SWITCH: Mapping[str, bool] = configparser.ConfigParser.BOOLEAN_STATES

Given = dict[str, dict[str, tuple[str, str]]]


def _from_file(environ: Mapping[str, str], faults: list[str]) -> Given:
    """Return texts by section and name, each with where it was given."""
    named = environ.get("SHIPYARD_CONFIG")
    path = Path(named) if named else DEFAULT_FILE
    if not named and not path.is_file():
        return {}
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read_string(path.read_text(encoding="utf-8"), source=str(path))
    except (OSError, UnicodeDecodeError, configparser.Error) as error:
        faults.append(f"{path}: {error}")
        return {}
    return {
        section: {name: (text, f"[{section}] {name} in {path}") for name, text in parser.items(section)}
        for section in parser.sections()
    }


def _section(kind: Any, section: str, values: dict[str, tuple[str, str]], faults: list[str]) -> Any:
    hints = get_type_hints(kind)
    known: dict[str, Any] = {}
    for name, (text, where) in values.items():
        if name not in hints:
            faults.append(f"{where}: there is no such setting in [{section}]")
            continue
        try:
            known[name] = _SWITCH[text.lower()] if hints[name] is bool else hints[name](text)
        except (ValueError, KeyError):
            wanted = _wanted(hints[name])
            faults.append(f"{where}: {text!r} is not {wanted}")
            continue
        if hints[name] in (int, float) and not 0 < known[name] < float("inf"):
            faults.append(f"{where}: {text} must be above 0")
    return kind(**known)


def _wanted(kind: type) -> str:
    if issubclass(kind, Enum):
        return "one of " + ", ".join(one.value for one in kind)
    return {
        "int": "a whole number",
        "Count": "a whole number, 0 or above",
        "float": "a number",
        "bool": "true or false",
    }.get(kind.__name__, "a number, 0 or above")  # Seconds
