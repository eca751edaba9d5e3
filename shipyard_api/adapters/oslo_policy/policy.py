"""Rules evaluated by oslo.policy: our defaults, overridden by the operator's file, which is reloaded when it changes.

This module reads the file instead of oslo.policy, for three reasons. Its enforcer drops the rules before it has read
the new ones, so requests in other threads would be denied. It denies everyone for an invalid check, and applies the
defaults if the file is gone, which may allow what the file forbade. And it searches users' homes for ``policy.d``.
"""

import logging
import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml
from oslo_config import cfg
from oslo_policy import policy

from shipyard_api.domain.policy import ANYONE, BASIS, GUARDS, PREFIX, RULES, SOFTWARE_PREFIX, TEMPLATE_PREFIX, Rule
from shipyard_api.ports.identity import Identity, PolicyBroken

from . import USUAL_FILE

LOG = logging.getLogger(__name__)

# Decisions that one process caches; there are about thirty rules, and few callers.
MOST_DECIDED = 4096
# A check that calls a server may have another result the next time.
_CALLS_SERVER = re.compile(r"https?:")

_State = tuple[int, ...] | None
_ABSENT = None


class OsloPolicy:
    """Fills ``ports.identity.Policy``; may be shared by threads. Raises ValueError for an invalid file.

    ``named``: a file that must exist. ``usual``: without a named file, this file applies once it exists; until then the
    defaults do. A file that existed and is gone counts as invalid. ``seconds``: how long a change may go unnoticed.
    """

    def __init__(
        self,
        named: Path | None = None,
        *,
        usual: Path | None = None,
        seconds: float = 0.0,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        # We report invalid rules ourselves, once and in one line.
        logging.getLogger("oslo_policy").setLevel(logging.CRITICAL)
        self._file = named or usual
        self._lock = threading.Lock()
        self._seconds = seconds
        self._now = monotonic
        self._looked = monotonic()
        self._state = _state(self._file)
        absent = self._state is _ABSENT and named is None
        self._enforcer: policy.Enforcer | None = _enforcer(None if absent else self._file)
        self._decided: dict[tuple[policy.Enforcer, str, Identity], bool] = {}

    def allows(self, rule: str, identity: Identity) -> bool:
        """Return whether the identity satisfies the rule."""
        enforcer = self._current()
        if enforcer is None:
            raise PolicyBroken(f"{self._file} is invalid")
        if rule not in RULES:
            raise PolicyBroken(f"there is no rule {rule}")
        key = (enforcer, rule, identity)
        decided = self._decided.get(key)
        if decided is None:
            decided = _decide(enforcer, rule, identity)
            if not _CALLS_SERVER.search(str(enforcer.rules)):
                self._remember(key, allowed=decided)
        return decided

    def _remember(self, key: tuple[policy.Enforcer, str, Identity], *, allowed: bool) -> None:
        with self._lock:
            if len(self._decided) >= MOST_DECIDED:
                self._decided.clear()
            self._decided[key] = allowed

    def _current(self) -> policy.Enforcer | None:
        """Return the enforcer of the current file; None while the file is invalid."""
        # Each look lets another thread have the interpreter, and gets it back late.
        now = self._now()
        if now - self._looked < self._seconds:
            return self._enforcer
        self._looked = now
        state = _state(self._file)
        if state == self._state:
            return self._enforcer
        with self._lock:
            if state != self._state:
                try:
                    self._enforcer = _enforcer(self._file)
                    LOG.info("policy file reloaded", extra={"file": str(self._file)})
                except ValueError as error:
                    self._enforcer = None
                    LOG.error(  # noqa: TRY400  # the text is complete
                        "policy file unusable: all guarded requests are refused", extra={"trouble": str(error)}
                    )
                self._decided.clear()
                self._state = state
            return self._enforcer


def sample() -> str:
    """Return a policy file with every rule, commented out."""
    lines = [
        "# Authorization in Shipyard. Made by ./dev docs from domain/policy.py; do not edit the sample.",
        f"# Your file holds only the rules that you change: {USUAL_FILE}, or the one named by",
        "# [policy] file. It is reloaded when it changes. The language is oslo.policy's: role:NAME, rule:NAME, and,",
        "# or, not, ( ), ! for no one, @ for every authenticated caller. Every caller has the role anyone.",
        "",
        "# Rules that other rules refer to:",
    ]
    lines += [line for rule in BASIS for line in _commented(rule)]
    lines += ["", "# Rules of operations:"]
    lines += [line for rule in GUARDS for line in _commented(rule)]
    return "\n".join(lines) + "\n"


def _commented(rule: Rule) -> list[str]:
    return ["", f"# {rule.description}", f'#"{rule.name}": "{rule.check}"']


def _credentials(identity: Identity) -> dict[str, Any]:
    return {
        "user_id": identity.user_id,
        "user_domain_id": identity.user_domain_id,
        "project_id": identity.project_id,
        "project_domain_id": identity.project_domain_id,
        "roles": sorted(identity.roles | {ANYONE}),
        "is_admin_project": identity.is_admin_project,
    }


def _decide(enforcer: policy.Enforcer, rule: str, identity: Identity) -> bool:
    target = {"project_id": identity.project_id, "user_id": identity.user_id}
    try:
        return bool(enforcer.enforce(rule, target, _credentials(identity)))
    except Exception as error:  # a rule may call a server or read missing attributes: anything can fail
        raise PolicyBroken(f"{rule}: {error}") from error


def _state(file: Path | None) -> _State:
    """Return a value that changes with the content of the file; None if there is no file."""
    if file is None:
        return _ABSENT
    try:
        stat = os.stat(file)  # noqa: PTH116  # three times as fast
    except (FileNotFoundError, NotADirectoryError):
        return _ABSENT
    except OSError as error:
        # The file may exist and forbid something.
        return (error.errno or 0,)
    return stat.st_mtime_ns, stat.st_size, stat.st_ino


def _enforcer(file: Path | None) -> policy.Enforcer:
    """Return an enforcer that never reads a file; raises ValueError with all faults."""
    texts: dict[str, Any] = {rule.name: rule.check for rule in RULES.values()}
    faults: list[str] = []
    if file is not None:
        rules = _read(file)
        faults = list(_faults(rules))
        texts |= rules
    if faults:
        raise ValueError("; ".join(faults))
    conf = cfg.ConfigOpts()
    conf([], project="shipyard", default_config_files=[], default_config_dirs=[])
    enforcer = policy.Enforcer(conf, rules=policy.Rules.from_dict(texts), use_conf=False)
    try:
        enforcer.check_rules(raise_on_violation=True)
    except policy.InvalidDefinitionError as error:
        names = ", ".join(re.findall(r"'([^']+)'", str(error)))
        raise ValueError(f"rules that refer to missing rules or to themselves: {names}") from error
    return enforcer


def _read(file: Path) -> Mapping[str, Any]:
    try:
        read = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(str(error)) from error
    except yaml.YAMLError as error:
        raise ValueError(" ".join(f"{file} is not YAML: {error}".split())) from error
    if read is None:
        return {}
    if not isinstance(read, dict) or not all(isinstance(name, str) for name in read):
        raise ValueError(f"{file} holds no rules: each is a name, a colon and a check in quotation marks")
    return read


def _faults(texts: Mapping[str, Any]) -> Iterable[str]:
    for name, text in texts.items():
        if name.startswith((PREFIX, TEMPLATE_PREFIX, SOFTWARE_PREFIX)) and name not in RULES:
            yield f"there is no rule {name}"
        elif not isinstance(text, str):
            # oslo.policy lets everyone pass a rule without a check.
            yield f"the rule {name} has no check in quotation marks"
        elif str(policy.Rules.from_dict({name: text})[name]).count("!") > text.count("!"):
            # oslo.policy turns an invalid check into "!", which denies everyone.
            yield f"the rule {name} is invalid: {text!r}"
