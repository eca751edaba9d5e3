"""Rules evaluated by oslo.policy: our defaults, and an operator's file over them, which is read again when it changes.

The file is read here and not by oslo.policy, for three reasons. Its enforcer takes the rules away before it has read
the new ones, so that a request in another thread would be refused for nothing. It takes what it cannot understand for
"nobody", and a file that is gone for the defaults, which may allow what the file forbade. And it looks for a directory
``policy.d`` in the homes of users.
"""

import logging
import os
import re
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml
from oslo_config import cfg
from oslo_policy import policy

from shipyard_api.domain.policy import ANYONE, BASIS, GUARDS, PREFIX, RULES, Rule
from shipyard_api.ports.identity import Identity, PolicyBroken

from .options import USUAL_FILE

LOG = logging.getLogger(__name__)

# Decisions that one process remembers; there are some thirty rules, and few callers.
MOST_DECIDED = 4096
# A check that asks somebody else may be answered otherwise the next time.
_ASKS = re.compile(r"https?:")

_State = tuple[int, ...] | None
_ABSENT = None


class OsloPolicy:
    """Fills ``ports.identity.Policy``; may be shared by threads. Raises ValueError for a file that cannot be used.

    ``named``: a file that has to be there. ``usual``: without a named one, a file that counts as soon as it is there;
    until then our defaults do. One that was there and is gone is one that cannot be used.
    """

    def __init__(self, named: Path | None = None, *, usual: Path | None = None) -> None:
        # What it has to say about rules that it does not understand, we say ourselves, once and in one line.
        logging.getLogger("oslo_policy").setLevel(logging.CRITICAL)
        self._file = named or usual
        self._lock = threading.Lock()
        self._state = _state(self._file)
        absent = self._state is _ABSENT and named is None
        self._enforcer: policy.Enforcer | None = _enforcer(None if absent else self._file)
        self._decided: dict[tuple[policy.Enforcer, str, Identity], bool] = {}

    def allows(self, rule: str, identity: Identity) -> bool:
        """Return whether the identity satisfies the rule."""
        enforcer = self._current()
        if enforcer is None:
            raise PolicyBroken(f"{self._file} cannot be used")
        if rule not in RULES:
            raise PolicyBroken(f"there is no rule {rule}")
        question = (enforcer, rule, identity)
        decided = self._decided.get(question)
        if decided is None:
            decided = _decide(enforcer, rule, identity)
            if not _ASKS.search(str(enforcer.rules)):
                self._remember(question, allowed=decided)
        return decided

    def _remember(self, question: tuple[policy.Enforcer, str, Identity], *, allowed: bool) -> None:
        with self._lock:
            if len(self._decided) >= MOST_DECIDED:
                self._decided.clear()
            self._decided[question] = allowed

    def _current(self) -> policy.Enforcer | None:
        """Return what the file says now; None while it says nothing that can be used."""
        state = _state(self._file)
        if state == self._state:
            return self._enforcer
        with self._lock:
            if state != self._state:
                try:
                    self._enforcer = _enforcer(self._file)
                    LOG.info("policy file read again", extra={"file": str(self._file)})
                except ValueError as error:
                    self._enforcer = None
                    LOG.error(  # noqa: TRY400  # the text says it all
                        "policy file unusable: all guarded requests are refused", extra={"trouble": str(error)}
                    )
                self._decided.clear()
                self._state = state
            return self._enforcer


def sample() -> str:
    """Return a policy file with every rule, commented out."""
    lines = [
        "# Who may do what in Shipyard. Made by ./dev docs from shipyard_api/domain/policy.py; do not edit the sample.",
        f"# A file of yours holds only the rules that you change: {USUAL_FILE}, or what [policy] file",
        "# names. It is read again when it changes. The language is oslo.policy's: role:NAME, rule:NAME, and, or, not,",
        "# ( ), ! for nobody, @ for everybody who is known. Every caller has the role anyone.",
        "",
        "# What the others are made of:",
    ]
    lines += [line for rule in BASIS for line in _commented(rule)]
    lines += ["", "# What guards something:"]
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
    except Exception as error:  # a rule may ask a server or read what a caller does not have: anything can go wrong
        raise PolicyBroken(f"{rule}: {error}") from error


def _state(file: Path | None) -> _State:
    """Return what tells one content of a file from another; nothing at all if there is no file."""
    if file is None:
        return _ABSENT
    try:
        found = os.stat(file)  # noqa: PTH116  # at every request, and a third of the price
    except (FileNotFoundError, NotADirectoryError):
        return _ABSENT
    except OSError as error:
        # It may be there, and forbid something.
        return (error.errno or 0,)
    return found.st_mtime_ns, found.st_size, found.st_ino


def _enforcer(file: Path | None) -> policy.Enforcer:
    """Return an enforcer that never reads a file; raises ValueError, one fault after another."""
    texts: dict[str, Any] = {rule.name: rule.check for rule in RULES.values()}
    faults: list[str] = []
    if file is not None:
        own = _read(file)
        faults = list(_faults(own))
        texts |= own
    if faults:
        raise ValueError("; ".join(faults))
    conf = cfg.ConfigOpts()
    conf([], project="shipyard", default_config_files=[], default_config_dirs=[])
    enforcer = policy.Enforcer(conf, rules=policy.Rules.from_dict(texts), use_conf=False)
    try:
        enforcer.check_rules(raise_on_violation=True)
    except policy.InvalidDefinitionError as error:
        names = ", ".join(re.findall(r"'([^']+)'", str(error)))
        raise ValueError(f"rules that refer to one that is not there, or to themselves: {names}") from error
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
        if name.startswith(PREFIX) and name not in RULES:
            yield f"there is no rule {name}"
        elif not isinstance(text, str):
            # To oslo.policy a rule without a check is one that everybody satisfies.
            yield f"the rule {name} has no check in quotation marks"
        elif str(policy.Rules.from_dict({name: text})[name]).count("!") > text.count("!"):
            # What oslo.policy cannot understand becomes "!", which nobody satisfies.
            yield f"the rule {name} cannot be understood: {text!r}"
