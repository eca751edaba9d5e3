"""Parse the parameters of actions (contract: shipyard-actions, chapter 3)."""

import difflib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from shipyard_api.domain.actions import ActionName
from shipyard_api.domain.documents.paths import pointer
from shipyard_api.domain.error_kinds import Invalid
from shipyard_api.domain.errors import InvalidParameters
from shipyard_api.domain.findings import Finding, Level, error, warning
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.policy import DELETE_BLOCKED, PREFIX, SOFTWARE_PREFIX
from shipyard_api.domain.specification.impact import OnChange
from shipyard_api.domain.targets import parse_targets
from shipyard_api.domain.task_graph.command_run import COMMAND, CONNECT_TIMEOUT, FORKS
from shipyard_api.domain.task_graph.run_values import RunValues, ValuesError
from shipyard_api.domain.teardown import limits
from shipyard_api.domain.teardown.drain import OnBlocked

CONTINUE_ON_FAIL = "continue-on-fail"
ALLOW_INTERMEDIATE_COMMITS = "allow-intermediate-commits"
FORCE = "force"
TARGET_NODES = "target_nodes"
SERVER_NAME = "server-name"
PRESERVE_LOCAL_STORAGE = "preserve-local-storage"
TARGET_REVISION = "target-revision"
RELEASE = "release"
MODE = "mode"
TEMPLATE = "template"
RUNBOOK = "runbook"
MAX_PARALLEL_NODES = "max_parallel_nodes"
DRAIN = "drain"
ON_CHANGE = "on-change"
MAX_REINSTALLS = "max-reinstalls"
ON_REMOVED = "on-removed"
NODES, TASKS, SKIP, START, END, VALUES, NOOP = "nodes", "tasks", "skip", "start", "end", "values", "noop"
_SOFTWARE = frozenset({NODES, TASKS, SKIP, START, END, VALUES, NOOP})
_COMMAND = frozenset({COMMAND, FORKS, CONNECT_TIMEOUT})
_PARALLEL = 1_000
_MOST: Mapping[str, int] = {FORKS: _PARALLEL, CONNECT_TIMEOUT: 600}
"""The largest numbers that belong to a command."""

_SITE = frozenset({CONTINUE_ON_FAIL, ALLOW_INTERMEDIATE_COMMITS, FORCE})
"""They lift checks and narrow nothing: scripts of upstream may send them with any action."""
MISPLACED = "MisplacedParameter"
"""The finding for a parameter of another action, or a misspelled one: ignored, it would let the action do too much."""
_MISSPELLED = 0.8  # "target_node" is target_nodes, "targets" is a word of its own


class TargetRevision(Enum):
    """The design that a server is redeployed from (seed 004, Redeploy Server)."""

    COMMITTED = "committed"
    SUCCESSFUL_SITE_ACTION = "successful-site-action"
    LAST_SITE_ACTION = "last-site-action"


class RedeployMode(Enum):
    """How a server is redeployed: erased and deployed, or only its system disk installed again (product, section 6)."""

    REPLACE = "replace"
    REBUILD = "rebuild"


class Parameters(Struct, frozen=True):
    """The parsed parameters of one action; parameters unknown to the action keep their defaults.

    ``allows_intermediate_commits`` is None when it was not sent. ``targets`` is empty for an action on the whole site.
    ``target_revision``: None for an action without this parameter. ``release``: the only release to test; None for
    all. ``max_parallel_nodes``: targets that are away at a time; of an update 0 for no bound.
    ``template``, ``runbook``: the deploy template, or the runbook of the provisioner, whose steps a service runs.
    ``drains``: whether servers are drained before they are switched off.
    ``on_change``: what an update does to changed servers; ``max_reinstalls``: how many it may install again, None for
    any number; ``removes``: whether it takes down the servers that have left the design.
    ``limits``: the time limits of a teardown as they were written; None: those of the design. ``software``: what a run
    of the task graph is limited to, as in the inputs of the action.
    """

    continues_on_fail: bool = False
    allows_intermediate_commits: bool | None = None
    force: bool = False
    targets: tuple[NodeName, ...] = ()
    preserves_local_storage: bool = False
    target_revision: TargetRevision | None = None
    mode: RedeployMode = RedeployMode.REPLACE
    release: str | None = None
    template: str = ""
    runbook: str = ""
    drains: bool = True
    max_parallel_nodes: int = 1
    on_change: OnChange = OnChange.LEAVE
    max_reinstalls: int | None = None
    removes: bool = False
    limits: Mapping[str, Any] = field(default_factory=dict)
    software: Mapping[str, Any] = field(default_factory=dict)

    @property
    def named(self) -> tuple[NodeName, ...]:
        """The nodes that the action names: its targets, or those of a run of the task graph."""
        return self.targets or tuple(map(NodeName, self.software.get(NODES, ())))


P = TypeVar("P", bound=Parameters)


class Parameter(Struct, frozen=True):
    """A value of an action's ``Parameters``, and how it is read.

    ``field``: its name there. ``names``: the parameters that callers send for it. ``read``: returns the value from
    what they sent, of these names; may add findings, and raises Invalid where a misunderstanding could cost data, or
    the contract refuses the value.

    ``right``: the policy rule of callers who send a value that ``needs_right``; empty: any caller may.
    """

    field: str
    names: Collection[str]
    read: Callable[[Mapping[str, Any], list[Finding]], Any]
    right: str = ""
    needs_right: Callable[[JsonObject], bool] = bool

    def rights(self, written: JsonObject) -> Sequence[str]:
        """Return the right that a caller needs for its values among what is written, if any."""
        given = {name: written[name] for name in self.names if name in written}
        return [self.right] if self.right and self.needs_right(given) else []


class Choice(Parameter, frozen=True):
    """A parameter with a few words as values. ``rights_of``: the policy rules of callers who send one of them."""

    rights_of: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def rights(self, written: JsonObject) -> Sequence[str]:
        """Return the rights that a caller needs for its value, if any."""
        (name,) = self.names
        return self.rights_of.get(str(written.get(name)), ())


def parse_parameters(
    name: ActionName,
    written: Mapping[str, Any],
    parameters: Sequence[Parameter],
    into: type[P],
    known: Mapping[ActionName, Collection[str]],
) -> tuple[P, tuple[Finding, ...]]:
    """Return the parsed parameters of an action, and a warning for each that is unknown or misspelled.

    ``known``: the names of every action's parameters. Others are stored and shown, and have no effect. Raises Invalid
    as ``Parameter.read``.
    """
    warnings = [_unknown(name, key, known) for key in written if key not in known[name]]
    values = {}
    for parameter in parameters:
        values[parameter.field] = parameter.read(
            {key: written[key] for key in parameter.names if key in written}, warnings
        )
    return into(**values), tuple(warnings)


def _truth(value: object) -> bool | None:
    """Return a boolean that clients may send as text in any case; None if it is neither true nor false."""
    return {"true": True, "false": False}.get(str(value).lower()) if isinstance(value, bool | str) else None


def _lenient(given: Mapping[str, Any], key: str, warnings: list[Finding]) -> bool | None:
    """Return a boolean as Airship reads it: anything but "true" is false, here with a warning if it is no boolean."""
    if key not in given:
        return None
    value = _truth(given[key])
    if value is None:
        message = f"The parameter {key} is {_shown(given[key])}, which counts as false. It is either true or false."
        warnings.append(warning("ParameterNotUnderstood", message, path=pointer(["parameters", key])))
    return bool(value)


def _strict(given: Mapping[str, Any], key: str) -> bool:
    value = _truth(given.get(key, False))
    if value is None:
        raise _refused(key, f"it is either true or false, not {_shown(given[key])}")
    return value


def _targets(given: Mapping[str, Any], _: list[Finding]) -> tuple[NodeName, ...]:
    if SERVER_NAME not in given:
        return parse_targets(given.get(TARGET_NODES))
    if TARGET_NODES in given:
        raise _refused(SERVER_NAME, f"give either {SERVER_NAME} or {TARGET_NODES}")
    name = given[SERVER_NAME]
    if isinstance(name, str) and "," in name:
        raise _refused(SERVER_NAME, f"it names one server, not {_shown(name)}; {TARGET_NODES} names several")
    return parse_targets([name])


def _target_revision(given: Mapping[str, Any], _: list[Finding]) -> TargetRevision:
    if TARGET_REVISION not in given:
        return TargetRevision.SUCCESSFUL_SITE_ACTION
    for revision in TargetRevision:
        if revision.value == given[TARGET_REVISION]:
            return revision
    words = ", ".join(revision.value for revision in TargetRevision)
    raise _refused(TARGET_REVISION, f"{_shown(given[TARGET_REVISION])} is none of {words}")


def _mode(given: Mapping[str, Any], _: list[Finding]) -> RedeployMode:
    written = given.get(MODE, RedeployMode.REPLACE.value)
    for mode in RedeployMode:
        if mode.value == written:
            return mode
    raise _refused(MODE, f"{_shown(written)} is none of {', '.join(mode.value for mode in RedeployMode)}")


def _on_change(given: JsonObject, _: list[Finding]) -> OnChange:
    written = given.get(ON_CHANGE, OnChange.LEAVE.value)
    for choice in OnChange:
        if choice.value == written:
            return choice
    raise _refused(ON_CHANGE, f"{_shown(written)} is none of {', '.join(choice.value for choice in OnChange)}")


def _most_reinstalls(given: JsonObject, _: list[Finding]) -> int | None:
    if MAX_REINSTALLS not in given:
        return None
    value = given[MAX_REINSTALLS]
    if not str(value).isdecimal() or len(str(value)) > 7:
        raise _refused(MAX_REINSTALLS, f"it is a whole number from 0 on, not {_shown(value)}")
    return int(value)


def _removes(given: JsonObject, _: list[Finding]) -> bool:
    written = given.get(ON_REMOVED, "leave")
    if written not in ("leave", "remove"):
        raise _refused(ON_REMOVED, f"{_shown(written)} is none of leave, remove")
    return bool(written == "remove")


def _parallel(given: Mapping[str, Any], _: list[Finding]) -> int:
    value = given.get(MAX_PARALLEL_NODES, 1)
    number = int(value) if isinstance(value, int | str) and str(value).isdecimal() and len(str(value)) < 5 else 0
    if not 1 <= number <= _PARALLEL:
        raise _refused(MAX_PARALLEL_NODES, f"it is a whole number from 1 to {_PARALLEL}, not {_shown(value)}")
    return number


def _limits(given: Mapping[str, Any], _warnings: list[Finding]) -> Mapping[str, Any]:
    """Return the written limits; raises InvalidParameters for one that can never work, whatever the design says."""
    written = {name: given[name] for name in limits.PARAMETERS if name in given}
    _, faults = limits.TeardownLimits().with_parameters(written)
    limit_faults = [replace(fault, path="/parameters") for fault in faults if fault.name != "GracePeriodTooLong"]
    if limit_faults:
        raise InvalidParameters(limit_faults)
    return written


def _software(given: Mapping[str, Any], _warnings: list[Finding]) -> Mapping[str, Any]:
    """Return the limits of a run of the task graph (seed 001, CLI)."""
    limited: dict[str, Any] = {}
    for key in sorted(_SOFTWARE & given.keys()):
        value = given[key]
        if key == NOOP:
            limited |= {key: True} if _strict(given, key) else {}
            continue
        if key == VALUES:
            try:
                limited[key] = RunValues.read(value).to_json()
            except ValuesError as invalid:
                raise _refused(key, f"{invalid}") from invalid
            continue
        if key in (START, END):
            if not isinstance(value, str) or not value:
                raise _refused(key, f"it is the id of a task, not {_shown(value)}")
            limited[key] = value
            continue
        # The command line sends text.
        names = [name for name in map(str.strip, value.split(",")) if name] if isinstance(value, str) else value
        if not isinstance(names, list) or not names or not all(isinstance(entry, str) and entry for entry in names):
            what = "nodes" if key == NODES else "tasks"
            raise _refused(key, f"it is a list of {what}, or a text with commas, not {_shown(value)}")
        limited[key] = list(dict.fromkeys(names))
    return {**limited, **_command(given)}


def _command(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the one command of a run, on how many nodes it runs at a time, and how long a node has to take it."""
    numbers = sorted(_MOST.keys() & given.keys())
    if COMMAND not in given:
        if numbers:
            raise _refused(numbers[0], f"it belongs to {COMMAND}, which is not given")
        return {}
    command = given[COMMAND]
    if not isinstance(command, str) or not command.strip():
        raise _refused(COMMAND, f"it is a command for the shell, not {_shown(command)}")
    if others := sorted((_SOFTWARE - {NODES}) & given.keys()):
        raise _refused(others[0], f"it chooses tasks, and {COMMAND} runs none of the site's")
    if NODES not in given:
        raise _refused(COMMAND, f"it runs on the nodes that {NODES} names, and there are none")
    for name in numbers:
        number, most = given[name], _MOST[name]
        if isinstance(number, bool) or not isinstance(number, int) or not 0 < number <= most:
            raise _refused(name, f"it is a whole number from 1 to {most}, not {_shown(number)}")
    return {name: given[name] for name in sorted(_COMMAND & given.keys())}


def shown(written: Mapping[str, Any], secrets: Iterable[str]) -> Mapping[str, Any]:
    """Return sound parameters as they are shown: secret values of a run are masked. ``secrets``: of the design."""
    if VALUES not in written:
        return written
    return {**written, VALUES: RunValues.read(written[VALUES]).knowing(tuple(secrets)).masked.to_json()}


def _release(given: Mapping[str, Any], _: list[Finding]) -> str | None:
    release = given.get(RELEASE)
    if RELEASE in given and (not isinstance(release, str) or not release):
        raise _refused(RELEASE, f"it is the name of a release, not {_shown(release)}")
    return release


def _template(given: Mapping[str, Any], _: list[Finding]) -> str:
    template = given.get(TEMPLATE)
    if RUNBOOK in given and TEMPLATE in given:
        raise _refused(TEMPLATE, f"a service runs the steps of one of them, and {RUNBOOK} is given, too")
    if RUNBOOK in given:
        return ""
    if not isinstance(template, str) or not template:
        raise _refused(TEMPLATE, f"it is the name of a deploy template, not {_shown(template)}")
    return template


def _runbook(given: Mapping[str, Any], _: list[Finding]) -> str:
    runbook = given.get(RUNBOOK, "")
    if not isinstance(runbook, str) or (RUNBOOK in given and not runbook):
        raise _refused(RUNBOOK, f"it is the name of a runbook of the provisioner, not {_shown(runbook)}")
    return runbook


def _unknown(name: ActionName, key: str, every: Mapping[ActionName, Collection[str]]) -> Finding:
    known = every[name]
    plain = {_plain(key): key for key in sorted(known)}
    likely = difflib.get_close_matches(_plain(key), plain, 1)
    message = f"The parameter {_shown(key)} means nothing to {name}."
    meant = _meant(key, every)
    elsewhere = sorted(other for other, keys in every.items() if meant in keys)
    if likely and (meant is None or meant in known):
        message += f" Did you mean {plain[likely[0]]}?"
    elif meant == key:
        message += f" It belongs to {', '.join(elsewhere)}."
    elif meant:
        message += f" Did you mean {meant} of {', '.join(elsewhere)}?"
    else:
        message += f" {name} knows {', '.join(sorted(known))}."
    narrows = meant is not None and meant not in _SITE
    return warning(MISPLACED if narrows else "UnknownParameter", message, path=pointer(["parameters", key]))


def misplaced(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings for parameters that would have narrowed an action, as the errors that refuse it."""
    return tuple(
        replace(fault, level=Level.ERROR, message=f"{fault.message} With {FORCE}=true the action ignores it.")
        for fault in findings
        if fault.name == MISPLACED
    )


def _meant(key: str, known: Mapping[ActionName, Collection[str]]) -> str | None:
    """Return the parameter of any action that this is, or is a misspelling of."""
    every = {_plain(key): key for keys in known.values() for key in sorted(keys)}
    close = difflib.get_close_matches(_plain(key), every, 1, _MISSPELLED)
    return every[close[0]] if close else None


def _plain(key: str) -> str:
    return key.lower().replace("_", "-")


def _refused(key: str, why: str) -> Invalid:
    finding = error("InvalidParameter", f"The parameter {key} is wrong: {why}.", path=pointer(["parameters", key]))
    return InvalidParameters([finding])


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"


def _continues(given: Mapping[str, Any], warnings: list[Finding]) -> bool:
    return bool(_lenient(given, CONTINUE_ON_FAIL, warnings))


CONTINUES = Parameter("continues_on_fail", (CONTINUE_ON_FAIL,), _continues)
INTERMEDIATE = Parameter(
    "allows_intermediate_commits",
    (ALLOW_INTERMEDIATE_COMMITS,),
    lambda given, warnings: _lenient(given, ALLOW_INTERMEDIATE_COMMITS, warnings),
)
FORCED = Parameter("force", (FORCE,), lambda given, _: _strict(given, FORCE))
TARGETS = Parameter("targets", (TARGET_NODES,), _targets)
SOME_TARGETS = replace(TARGETS, read=lambda given, warnings: _targets(given, warnings) if given else ())
SERVERS = replace(TARGETS, names=(TARGET_NODES, SERVER_NAME))
PRESERVES = Parameter(
    "preserves_local_storage", (PRESERVE_LOCAL_STORAGE,), lambda given, _: _strict(given, PRESERVE_LOCAL_STORAGE)
)
REVISION = Parameter("target_revision", (TARGET_REVISION,), _target_revision)
MODES = Parameter("mode", (MODE,), _mode)
RELEASES = Parameter("release", (RELEASE,), _release)
TEMPLATES = Parameter("template", (TEMPLATE, RUNBOOK), _template)
RUNBOOKS = Parameter("runbook", (RUNBOOK,), _runbook)
PARALLEL = Parameter("max_parallel_nodes", (MAX_PARALLEL_NODES,), _parallel)
DRAINS = Parameter(
    "drains",
    (DRAIN,),
    lambda given, _: _strict(given, DRAIN) if given else True,
    right=DELETE_BLOCKED,
    needs_right=lambda given: _truth(given.get(DRAIN)) is False,
)
AT_ONCE = replace(PARALLEL, read=lambda given, warnings: _parallel(given, warnings) if given else 0)
CHANGES = Choice(
    "on_change",
    (ON_CHANGE,),
    _on_change,
    rights_of={
        OnChange.LEAST.value: [f"{PREFIX}action_service_server"],
        OnChange.REINSTALL.value: [f"{PREFIX}action_service_server", f"{PREFIX}action_redeploy_server"],
    },
)
REINSTALLS = Parameter("max_reinstalls", (MAX_REINSTALLS,), _most_reinstalls)
REMOVALS = Choice("removes", (ON_REMOVED,), _removes, rights_of={"remove": [f"{PREFIX}action_remove_server"]})
LIMITS = Parameter(
    "limits",
    limits.PARAMETERS,
    _limits,
    right=DELETE_BLOCKED,
    needs_right=lambda given: given.get(limits.ON_BLOCKED) == OnBlocked.DELETE.value,
)
DRAIN_LIMITS = replace(LIMITS, names=("drain-timeout", "grace-period", limits.ON_BLOCKED))
# Who may run any command may do no more than who writes the tasks.
SOFTWARE = Parameter(
    "software",
    _SOFTWARE | _COMMAND,
    _software,
    right=f"{SOFTWARE_PREFIX}update_graph",
    needs_right=lambda given: COMMAND in given,
)
TESTS = Parameter("software", (), lambda _given, _warnings: {"tests": True})
