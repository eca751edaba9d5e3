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

from shipyard_api.adapters.identity.options import IdentityOptions
from shipyard_api.adapters.keystone.options import KeystoneOptions
from shipyard_api.adapters.oslo_policy.options import PolicyOptions
from shipyard_api.adapters.procrastinate.options import WorkerOptions

DEFAULT_FILE = Path("/etc/shipyard/shipyard.conf")


class Secret(str):
    """A text that does not show itself."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'***'"


class Count(int):
    """A whole number that may be 0."""

    def __new__(cls, written: str | int) -> "Count":
        """Read one; raises ValueError."""
        number = int(written)
        if number < 0:
            raise ValueError(f"{number} is below 0")
        return super().__new__(cls, number)


class SettingsError(Exception):
    """Settings that cannot be used; ``faults`` names every one of them and where it was given."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__("; ".join(faults))
        self.faults = faults


@dataclass(frozen=True, slots=True)
class Database:
    """``url``: a Postgres, as libpq writes it. ``pool_size``: connections that one process keeps open."""

    url: Secret = Secret("")  # noqa: RUF009  # immutable
    pool_size: int = 8


@dataclass(frozen=True, slots=True)
class Engine:
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
class Provisioner:
    """``kind``: who provisions the machines: drydock, maas or ironic; the section of that name says where it is."""

    kind: ProvisionerKind = ProvisionerKind.DRYDOCK


@dataclass(frozen=True, slots=True)
class Drydock:
    """Where Drydock is, and how long to wait for it.

    ``url``: Drydock's base, ending in ``/api/v1.0``.
    ``token``: sent as X-Auth-Token.
    ``design_url``: where Drydock fetches a design, with ``{revision}`` in it; at most 128 characters. Empty: from
    Deckhand, if documents are kept there.
    ``connect_timeout_seconds``: how long to wait for a connection; at most half of ``engine.settle_seconds``.
    ``read_timeout_seconds``: how long to wait for an answer; Drydock may need minutes to evaluate a filter.
    ``nodefilter_pause_seconds``: the pause before a selection that failed is asked again.
    """

    url: str = ""
    token: Secret = Secret("")  # noqa: RUF009  # immutable
    design_url: str = ""
    connect_timeout_seconds: float = 10.0
    read_timeout_seconds: float = 300.0
    nodefilter_pause_seconds: float = 30.0


class Erase(Enum):
    """How MAAS erases disks."""

    QUICK = "quick"
    SECURE = "secure"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class Maas:
    """Where MAAS is, and what is wanted of it. Only used if MAAS provisions the site without a Drydock in between.

    ``url``: the region's API, ending in ``/MAAS/api/2.0``.
    ``api_key``: the API key of a MAAS user, in three parts as MAAS shows it.
    ``connect_timeout_seconds``: how long to wait for a connection; at most half of ``engine.settle_seconds``.
    ``read_timeout_seconds``: how long to wait for an answer; longer than the 90 s for which MAAS repeats a transaction.
    ``distro_series``: what is deployed, such as jammy; empty leaves it to MAAS.
    ``hwe_kernel``: the kernel that is deployed; empty leaves it to MAAS.
    ``user_data_file``: a file with what cloud-init is to do on a deployed machine.
    ``erase``: how disks are erased when a server is taken down: quick (both ends), secure (by the drive), full (hours).
    ``release_failed``: whether preparing takes machines whose deployment or release failed before.
    ``override_failed_testing``: whether preparing takes machines that failed MAAS's hardware tests.
    ``keep_enlisted``: whether a machine that was taken down stays known to MAAS.
    """

    url: str = ""
    api_key: Secret = Secret("")  # noqa: RUF009  # immutable
    connect_timeout_seconds: float = 10.0
    read_timeout_seconds: float = 150.0
    distro_series: str = ""
    hwe_kernel: str = ""
    user_data_file: str = ""
    erase: Erase = Erase.QUICK
    release_failed: bool = True
    override_failed_testing: bool = False
    keep_enlisted: bool = False


class IronicAuth(Enum):
    """How Ironic learns who we are."""

    NONE = "none"
    BASIC = "basic"
    KEYSTONE = "keystone"


@dataclass(frozen=True, slots=True)
class Ironic:
    """Where Ironic is, and what is wanted of it. Only used if Ironic provisions the site.

    ``url``: Ironic's address, with or without ``/v1``; empty: from Keystone's catalog, if ``auth`` is keystone.
    ``auth``: how we are let in: none (an Ironic with noauth), basic (http_basic), keystone (see its section).
    ``user``: the name that goes with ``password``; only for basic.
    ``password``: of that user.
    ``ca_file``: the authorities that may have signed Ironic's certificate; empty: those that everybody believes.
    ``connect_timeout_seconds``: how long to wait for a connection; at most half of ``engine.settle_seconds``.
    ``read_timeout_seconds``: how long to wait for an answer.
    ``instance_info_file``: a JSON file with the ``instance_info`` of every deployment, such as image and checksum.
    ``inspect``: whether preparing a node inspects its hardware first.
    ``remove``: whether a node that was taken down is removed from Ironic.
    """

    url: str = ""
    auth: IronicAuth = IronicAuth.NONE
    user: str = ""
    password: Secret = Secret("")  # noqa: RUF009  # immutable
    ca_file: str = ""
    connect_timeout_seconds: float = 10.0
    read_timeout_seconds: float = 60.0
    instance_info_file: str = ""
    inspect: bool = False
    remove: bool = False


class StoreKind(Enum):
    """Where documents are kept."""

    EMBEDDED = "embedded"
    DECKHAND = "deckhand"


@dataclass(frozen=True, slots=True)
class Designs:
    """``store``: where documents are kept, embedded (in our own database) or deckhand."""

    store: StoreKind = StoreKind.EMBEDDED


@dataclass(frozen=True, slots=True)
class Deckhand:
    """Where Deckhand is, if documents are kept there, and how long to wait for it.

    ``url``: Deckhand's base, ending in ``/api/v1.0``.
    ``token``: sent as X-Auth-Token.
    ``connect_timeout_seconds``: how long to wait for a connection.
    ``read_timeout_seconds``: how long to wait for an answer; rendering a site takes seconds, a busy Deckhand minutes.
    """

    url: str = ""
    token: Secret = Secret("")  # noqa: RUF009  # immutable
    connect_timeout_seconds: float = 5.0
    read_timeout_seconds: float = 300.0


@dataclass(frozen=True, slots=True)
class Promenade:
    """Where Promenade is; without it nobody is asked what Promenade thinks of a design.

    ``url``: Promenade's base, ending in ``/api/v1.0``.
    ``token``: sent as X-Auth-Token.
    ``connect_timeout_seconds``: how long to wait for a connection.
    ``read_timeout_seconds``: how long to wait for an answer.
    """

    url: str = ""
    token: Secret = Secret("")  # noqa: RUF009  # immutable
    connect_timeout_seconds: float = 5.0
    read_timeout_seconds: float = 300.0


@dataclass(frozen=True, slots=True)
class Kubernetes:
    """Where the cluster is that deployed servers join; without it nobody is asked whether they did.

    ``kubeconfig``: a kubeconfig file with a token or a client certificate; or give ``url``, not both.
    ``context``: which of the file's contexts; empty: its current one.
    ``url``: the API server's address, such as https://10.0.0.1:6443.
    ``token``: with ``url``: sent as a bearer token.
    ``ca_file``: with ``url``: the authorities (PEM) that may vouch for the API server; empty: the well-known ones.
    ``connect_timeout_seconds``: how long to wait for a connection.
    ``read_timeout_seconds``: how long to wait for an answer.
    """

    kubeconfig: str = ""
    context: str = ""
    url: str = ""
    token: Secret = Secret("")  # noqa: RUF009  # immutable
    ca_file: str = ""
    connect_timeout_seconds: float = 5.0
    read_timeout_seconds: float = 30.0


@dataclass(frozen=True, slots=True)
class Secrets:
    """What documents with storagePolicy encrypted are encrypted with; `shipyard db new-key` makes a key.

    ``keys``: keys with commas between them. The first encrypts, all of them decrypt.
    ``keys_file``: the same as a file, one key on each line; read if ``keys`` is empty.
    """

    keys: Secret = Secret("")  # noqa: RUF009  # immutable
    keys_file: str = ""

    def all(self) -> tuple[str, ...]:
        """Return the keys, the newest first; raises SettingsError if the file cannot be read."""
        text = str(self.keys)
        if not text and self.keys_file:
            try:
                text = Path(self.keys_file).read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                raise SettingsError([f"[secrets] keys_file: {error}"]) from error
        return tuple(key for part in text.splitlines() for key in map(str.strip, part.split(",")) if key)


class Demand(Enum):
    """How much it matters that something is missing."""

    SKIP = "Skip"
    INFO = "Info"
    WARNING = "Warning"
    ERROR = "Error"


@dataclass(frozen=True, slots=True)
class Validations:
    """How much it matters that a design does not say which version it is: Skip, Info, Warning or Error.

    ``deployment_version_create``: when documents are loaded.
    ``deployment_version_commit``: when they are committed, and when an action is created.
    """

    deployment_version_create: Demand = Demand.SKIP
    deployment_version_commit: Demand = Demand.SKIP


@dataclass(frozen=True, slots=True)
class DocumentInfo:
    """The document that says which version a design is.

    ``deployment_version_name``: its name.
    ``deployment_version_schema``: its schema.
    """

    deployment_version_name: str = "deployment-version"
    deployment_version_schema: str = "pegleg/DeploymentData/v1"


@dataclass(frozen=True, slots=True)
class Api:
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
class Log:
    """What is told on stdout, a JSON object a line.

    ``level``: DEBUG, INFO, WARNING or ERROR.
    ``audit_file``: a file for the audit log, one line for each request that would change something; empty: stdout.
    """

    level: str = "INFO"
    audit_file: str = ""


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything, by section of the file."""

    database: Database = field(default_factory=Database)
    engine: Engine = field(default_factory=Engine)
    worker: WorkerOptions = field(default_factory=WorkerOptions)
    provisioner: Provisioner = field(default_factory=Provisioner)
    drydock: Drydock = field(default_factory=Drydock)
    maas: Maas = field(default_factory=Maas)
    ironic: Ironic = field(default_factory=Ironic)
    keystone: KeystoneOptions = field(default_factory=KeystoneOptions)
    identity: IdentityOptions = field(default_factory=IdentityOptions)
    policy: PolicyOptions = field(default_factory=PolicyOptions)
    designs: Designs = field(default_factory=Designs)
    deckhand: Deckhand = field(default_factory=Deckhand)
    secrets: Secrets = field(default_factory=Secrets)
    promenade: Promenade = field(default_factory=Promenade)
    kubernetes: Kubernetes = field(default_factory=Kubernetes)
    validations: Validations = field(default_factory=Validations)
    document_info: DocumentInfo = field(default_factory=DocumentInfo)
    api: Api = field(default_factory=Api)
    log: Log = field(default_factory=Log)


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
