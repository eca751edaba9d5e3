"""Settings of the service: one file, overridden by the environment; all faults are reported at once.

The file is an INI file named by ``SHIPYARD_CONFIG`` (or ``/etc/shipyard/shipyard.conf`` if it exists). The variable of
a setting is ``SHIPYARD_<SECTION>_<NAME>``; ``DATABASE_URL`` is the database's address. Each adapter brings its section.
"""

import configparser
import re
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from shipyard_api.adapters.encryption import EncryptionOptions
from shipyard_api.adapters.git import GitOptions, Repository
from shipyard_api.adapters.identity import IdentityOptions
from shipyard_api.adapters.keystone import KeystoneOptions
from shipyard_api.adapters.kubernetes import KubernetesOptions
from shipyard_api.adapters.oidc import OidcOptions
from shipyard_api.adapters.opentelemetry import TraceOptions
from shipyard_api.adapters.oslo_policy import PolicyOptions
from shipyard_api.adapters.procrastinate import WorkerOptions
from shipyard_api.adapters.promenade import PromenadeOptions
from shipyard_api.adapters.prometheus import PrometheusOptions
from shipyard_api.adapters.ssh import SshOptions
from shipyard_api.adapters.webhooks import WebhookOptions
from shipyard_api.ports.design_store_plugin import DesignStorePlugin
from shipyard_api.settings.plugins import (
    DESIGN_STORES,
    EMBEDDED,
    PROVISIONERS,
    DesignStoreName,
    Group,
    Plugin,
    PluginName,
    ProvisionerName,
)
from shipyard_api.settings.types import (
    LARGEST_NUMBER,
    LARGEST_SECONDS,
    Address,
    Contact,
    Count,
    HeaderSecret,
    NodePage,
    Secret,
    Share,
)
from shipyard_api.settings.types import SettingsError as SettingsError

Options = TypeVar("Options")

DEFAULT_FILE = Path("/etc/shipyard/shipyard.conf")


@dataclass(frozen=True, slots=True)
class DatabaseOptions:
    """``url``: the address of the Postgres database, as libpq writes it. ``pool_size``: connections per process."""

    url: Secret = Secret("")  # noqa: RUF009  # immutable
    pool_size: int = 8


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """The engine; all times in seconds.

    ``settle_seconds``: how long to wait after an unanswered submission before looking for its outcome. At least twice
    the provisioner's connect timeout, so that no submission can arrive later than that.
    ``time_scale``: the length of a second in a site's time limits; anything but 1 is for simulated sites.
    ``question_seconds``: how long a query that a peer does not answer is retried.
    ``question_pause_seconds``: the pause between two such attempts.
    """

    settle_seconds: float = 6.0
    time_scale: float = 1.0
    question_seconds: float = 300.0
    question_pause_seconds: float = 10.0


@dataclass(frozen=True, slots=True)
class ProvisionerOptions:
    """The provisioner of the site, and its web page of a node.

    ``kind``: the provisioner: drydock, maas, ironic, or one of an installed plug-in; the section of that name has its
    address.
    ``node_page``: the web page of a node, with {node} for its name: https://maas.example/machines/{node}; empty: none.
    """

    kind: ProvisionerName = ProvisionerName("drydock")  # noqa: RUF009  # immutable
    node_page: NodePage = NodePage("")  # noqa: RUF009  # immutable


@dataclass(frozen=True, slots=True)
class DesignStoreOptions:
    """``store``: the store of documents: embedded (in Shipyard's own database), deckhand, or an installed plug-in."""

    store: DesignStoreName = DesignStoreName(EMBEDDED)  # noqa: RUF009  # immutable


class Severity(Enum):
    """The severity of a finding; Skip makes none."""

    SKIP = "Skip"
    INFO = "Info"
    WARNING = "Warning"
    ERROR = "Error"


@dataclass(frozen=True, slots=True)
class ValidationOptions:
    """Severity of a missing deployment version document: Skip, Info, Warning or Error.

    ``deployment_version_create``: severity when documents are loaded: Skip, Info, Warning or Error.
    ``deployment_version_commit``: severity when they are committed, and when an action is created.
    """

    deployment_version_create: Severity = Severity.SKIP
    deployment_version_commit: Severity = Severity.SKIP


@dataclass(frozen=True, slots=True)
class DocumentInfoOptions:
    """The document that holds the version of a design.

    ``deployment_version_name``: the name of the deployment version document.
    ``deployment_version_schema``: the schema of the deployment version document.
    """

    deployment_version_name: str = "deployment-version"
    deployment_version_schema: str = "pegleg/DeploymentData/v1"


@dataclass(frozen=True, slots=True)
class ApiOptions:
    """The API: its processes, and its limits for each caller.

    ``design_bytes``: the largest body of a request that loads documents.
    ``json_bytes``: the largest body of any other request.
    ``writes_per_minute``: writes (requests that change something) per caller and minute, on average; 0: no limit.
    ``writes_burst``: writes at once, after a pause.
    ``workers``: processes that serve the API.
    ``threads``: requests that one process works on at the same time.
    ``head_seconds``: how long a caller may take to send the head of a request.
    ``body_seconds``: how long a caller may take to send the body.
    ``answer_seconds``: how long a caller may take to receive an answer, or each part of an event stream.
    ``security_contact``: whom to tell about a vulnerability, such as mailto:security@example.org, for
    /.well-known/security.txt; empty: there is no such file.
    """

    design_bytes: int = 32 * 1024 * 1024
    json_bytes: int = 1024 * 1024
    writes_per_minute: Count = Count(300)  # noqa: RUF009  # immutable
    writes_burst: int = 100
    workers: int = 2
    threads: int = 8
    head_seconds: float = 10.0
    body_seconds: float = 60.0
    answer_seconds: float = 180.0
    security_contact: Contact = Contact("")  # noqa: RUF009  # immutable


@dataclass(frozen=True, slots=True)
class ActionOptions:
    """Guards of actions, and how long actions, revisions and stored plans are kept.

    ``max_share_touched``: the share of the site's nodes that an action may touch without force, above 0; 1: all.
    ``keep_days``: days after its end in which an action is kept with its journal, audit, nodes and tasks, and after its
    creation a revision of the embedded document store, or a plan that started no action, and after its end a hold;
    0: for ever.
    ``keep_newest``: how many of the newest actions and revisions are kept however old they are.
    """

    max_share_touched: Share = Share(1)  # noqa: RUF009  # immutable
    keep_days: Count = Count(400)  # noqa: RUF009  # immutable
    keep_newest: Count = Count(1000)  # noqa: RUF009  # immutable


class LogLevel(Enum):
    """The lowest level of records that are logged."""

    DEBUG = "DEBUG"
    INFO = "INFO"
    WARNING = "WARNING"
    ERROR = "ERROR"

    @classmethod
    def _missing_(cls, value: object) -> "LogLevel | None":
        """Return the level that is written in small letters."""
        return cls.__members__.get(str(value).upper())


@dataclass(frozen=True, slots=True)
class LogOptions:
    """The log on stdout, one JSON object a line.

    ``level``: DEBUG, INFO, WARNING or ERROR.
    ``audit_file``: a file for the audit log, one line for each write request; empty: stdout.
    """

    level: LogLevel = LogLevel.INFO
    audit_file: str = ""


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings, by section of the file. ``of_plugins``: the sections of plug-ins, by their names."""

    database: DatabaseOptions = field(default_factory=DatabaseOptions)
    engine: EngineOptions = field(default_factory=EngineOptions)
    worker: WorkerOptions = field(default_factory=WorkerOptions)
    provisioner: ProvisionerOptions = field(default_factory=ProvisionerOptions)
    keystone: KeystoneOptions = field(default_factory=KeystoneOptions)
    identity: IdentityOptions = field(default_factory=IdentityOptions)
    oidc: OidcOptions = field(default_factory=OidcOptions)
    policy: PolicyOptions = field(default_factory=PolicyOptions)
    designs: DesignStoreOptions = field(default_factory=DesignStoreOptions)
    git: GitOptions = field(default_factory=GitOptions)
    secrets: EncryptionOptions = field(default_factory=EncryptionOptions)
    promenade: PromenadeOptions = field(default_factory=PromenadeOptions)
    kubernetes: KubernetesOptions = field(default_factory=KubernetesOptions)
    prometheus: PrometheusOptions = field(default_factory=PrometheusOptions)
    ssh: SshOptions = field(default_factory=SshOptions)
    webhooks: WebhookOptions = field(default_factory=WebhookOptions)
    validations: ValidationOptions = field(default_factory=ValidationOptions)
    document_info: DocumentInfoOptions = field(default_factory=DocumentInfoOptions)
    api: ApiOptions = field(default_factory=ApiOptions)
    actions: ActionOptions = field(default_factory=ActionOptions)
    log: LogOptions = field(default_factory=LogOptions)
    traces: TraceOptions = field(default_factory=TraceOptions)
    of_plugins: Mapping[str, Any] = field(default_factory=dict)

    def of(self, name: str, options: type[Options]) -> Options:
        """Return the section of a plug-in; the defaults if none was read."""
        section = self.of_plugins.get(name)
        return section if isinstance(section, options) else options()

    def plugin(self, group: Group[Plugin], name: str) -> tuple[Plugin, Any]:
        """Return a plug-in with its section. Raises SettingsError if it is not installed."""
        plugin: Any = group.get(name)
        return plugin, self.of(name, plugin.options)

    def design_store(self) -> tuple[DesignStorePlugin, Any] | None:
        """Return the plug-in of the document store with its section, None if the store is the embedded one."""
        return None if self.designs.store == EMBEDDED else self.plugin(DESIGN_STORES, self.designs.store)


def section_types() -> Mapping[str, type]:
    """Return the type of each section by name; raises SettingsError if a plug-in cannot be used."""
    types = {name: kind for name, kind in get_type_hints(Settings).items() if name != _OF_PLUGINS}
    sections: dict[str, type] = {}
    faults = []
    for section, kind in types.items():
        sections[section] = kind
        if group := _SECTIONS_AFTER.get(section):
            plugins: Mapping[str, Any] = group.installed()
            taken = sorted(plugins.keys() & (types.keys() | sections.keys()))
            faults += [f"{group.group}: {name} is a section of Shipyard's" for name in taken]
            sections |= {name: plugin.options for name, plugin in plugins.items()}
    if faults:
        raise SettingsError(faults)
    return sections


def load(environ: Mapping[str, str]) -> Settings:
    """Load the settings; raises SettingsError with every fault."""
    faults: list[str] = []
    given = _from_file(environ, faults)
    types, sections = section_types(), dict[str, Any]()
    for section, kind in types.items():
        values = given.pop(section, {})
        for setting in fields(kind):
            variable = f"SHIPYARD_{section}_{setting.name}".upper()
            if variable in environ:
                values[setting.name] = (environ[variable], variable)
        if section == "database" and environ.get("DATABASE_URL"):
            values["url"] = (environ["DATABASE_URL"], "DATABASE_URL")
        sections[section] = _section(kind, section, values, faults)
    faults.extend(f"there is no section [{name}]" for name in given)
    faults.extend(_misspelt(environ))
    if faults:
        raise SettingsError(faults)
    of_plugins = {name: sections.pop(name) for name in types if name not in _OWN}
    return Settings(**sections, of_plugins=of_plugins)


@cache
def _variables(sections: tuple[tuple[str, type], ...]) -> dict[str, None]:
    return {f"SHIPYARD_{section}_{name}".upper(): None for section, kind in sections for name in get_type_hints(kind)}


def unknown_variables(environ: Mapping[str, str]) -> list[str]:
    """Return the variables that begin like ours and are none: of scripts, or misspelt."""
    known = _variables(tuple(section_types().items())).keys() | _OF_PROGRAMS
    names = sorted(name for name in environ.keys() - known if name.startswith("SHIPYARD_"))
    return [name for name in names if not _SERVICE_LINK.search(f"{name}={environ[name]}")]


def _misspelt(environ: Mapping[str, str]) -> Iterator[str]:
    """Yield unknown variables of a section, and those that are almost one of ours; scripts may have others."""
    types = section_types()
    sections, variables = tuple(f"SHIPYARD_{name}_".upper() for name in types), _variables(tuple(types.items()))
    for name in unknown_variables(environ):
        of_section = name.startswith(sections)
        near = get_close_matches(name, variables, n=1, cutoff=0.7 if of_section else 0.9)
        if of_section or near:
            yield f"{name}: there is no such setting" + "".join(f"; did you mean {name_close}?" for name_close in near)


def as_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of this environment's file as the variables that set the same."""
    return {
        f"SHIPYARD_{section}_{name}".upper(): text
        for section, names in _from_file(environ, []).items()
        for name, (text, _) in names.items()
    }


def share_directory() -> Path:
    """Return the directory of schemas and migrations: the checkout, else the data directory of the wheel."""
    checkout = Path(__file__).resolve().parents[2]
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
    raise SettingsError([f"none of {looked} holds Shipyard's schemas; reinstall Shipyard"])


# Where the sections of plug-ins stand.
_SECTIONS_AFTER: Mapping[str, Group[Any]] = {"provisioner": PROVISIONERS, "designs": DESIGN_STORES}
_OF_PLUGINS = "of_plugins"
_OWN = frozenset(section.name for section in fields(Settings)) - {_OF_PLUGINS}
# Of the command line, of ./dev, and of the server's address.
_OF_PROGRAMS = frozenset(
    f"SHIPYARD_{name}" for name in ("BIND", "COMPLETE", "CONFIG", "FLEET", "PYTHON", "SITES", "TOKEN", "URL", "VENV")
)
# What Kubernetes sets in every pod beside a Service named shipyard or shipyard-api.
_SERVICE_LINK = re.compile(r"_SERVICE_(HOST|PORT(_\w+)?)=|_PORT(_\d+_\w+)?=(tcp|udp|sctp)://|_PORT_\d+_\w+_\w+=")
_LARGEST = {int: LARGEST_NUMBER, float: LARGEST_SECONDS}
_UNQUOTED = (Address, HeaderSecret, Repository)
_SWITCH: Mapping[str, bool] = configparser.ConfigParser.BOOLEAN_STATES

Given = dict[str, dict[str, tuple[str, str]]]


def _from_file(environ: Mapping[str, str], faults: list[str]) -> Given:
    """Return texts by section and name, each with where it is set."""
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
            # An address may hold a password.
            written = "this" if hints[name] in _UNQUOTED else repr(text[:100])
            faults.append(f"{where}: {written} is not {_wanted(hints[name])}")
            continue
        if issubclass(hints[name], PluginName) and text not in hints[name].GROUP.names():
            faults.append(f"{where}: {hints[name].GROUP.unknown(text)}")
        largest = _LARGEST.get(hints[name])
        if largest and not 0 < known[name] <= largest:
            faults.append(f"{where}: {text[:100]} must be above 0 and at most {largest:,.0f}")
    return kind(**known)


def _wanted(kind: Any) -> str:
    if issubclass(kind, Enum):
        return "one of " + ", ".join(choice.value for choice in kind)
    plain = {int: "a whole number", float: "a number", bool: "true or false"}
    return plain.get(kind) or str(kind.WANTED)
