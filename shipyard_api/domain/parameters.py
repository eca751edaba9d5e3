"""The parameters of actions: what an operator may write, and what it means (contract: shipyard-actions, chapter 3)."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from shipyard_api.domain.actions import ActionName
from shipyard_api.domain.errors import Invalid
from shipyard_api.domain.findings import Finding, error, warning
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.targets import parse_targets

CONTINUE_ON_FAIL = "continue-on-fail"
ALLOW_INTERMEDIATE_COMMITS = "allow-intermediate-commits"
FORCE = "force"
TARGET_NODES = "target_nodes"
SERVER_NAME = "server-name"
PRESERVE_LOCAL_STORAGE = "preserve-local-storage"
TARGET_REVISION = "target-revision"
RELEASE = "release"

_SITE = frozenset({CONTINUE_ON_FAIL, ALLOW_INTERMEDIATE_COMMITS, FORCE})
KNOWN: Mapping[ActionName, frozenset[str]] = {
    ActionName.DEPLOY_SITE: _SITE,
    ActionName.UPDATE_SITE: _SITE,
    ActionName.UPDATE_SOFTWARE: frozenset({CONTINUE_ON_FAIL, ALLOW_INTERMEDIATE_COMMITS}),
    ActionName.REDEPLOY_SERVER: frozenset(
        {CONTINUE_ON_FAIL, FORCE, TARGET_NODES, SERVER_NAME, PRESERVE_LOCAL_STORAGE, TARGET_REVISION}
    ),
    ActionName.RELABEL_NODES: frozenset({CONTINUE_ON_FAIL, FORCE, TARGET_NODES}),
    ActionName.TEST_SITE: frozenset({RELEASE}),
}
"""The parameters that mean something, by action. What else is sent is stored and shown, and does nothing."""


class TargetRevision(Enum):
    """Which design a server is deployed from again (seed 004, Redeploy Server)."""

    COMMITTED = "committed"
    SUCCESSFUL_SITE_ACTION = "successful-site-action"
    LAST_SITE_ACTION = "last-site-action"


@dataclass(frozen=True, slots=True)
class Parameters:
    """What the parameters of one action mean; what that action does not know stands at its default.

    ``allows_intermediate_commits`` is None when it was not said. ``targets`` is empty for an action on the whole site.
    ``release``: the only one to be tested; None for all.
    """

    continues_on_fail: bool = False
    allows_intermediate_commits: bool | None = None
    force: bool = False
    targets: tuple[NodeName, ...] = ()
    preserves_local_storage: bool = False
    target_revision: TargetRevision = TargetRevision.SUCCESSFUL_SITE_ACTION
    release: str | None = None


def parse_parameters(name: ActionName, written: Mapping[str, Any]) -> tuple[Parameters, tuple[Finding, ...]]:
    """Return what the parameters mean, and a warning for each that does not do what its author may think.

    Raises Invalid where a misunderstanding could cost data, or the contract refuses.
    """
    known = KNOWN[name]
    given = {key: value for key, value in written.items() if key in known}
    told = [_unknown(name, key, known) for key in written if key not in known]
    parameters = Parameters(
        continues_on_fail=bool(_lenient(given, CONTINUE_ON_FAIL, told)),
        allows_intermediate_commits=_lenient(given, ALLOW_INTERMEDIATE_COMMITS, told),
        force=_strict(given, FORCE),
        targets=_targets(given) if TARGET_NODES in known else (),
        preserves_local_storage=_strict(given, PRESERVE_LOCAL_STORAGE),
        target_revision=_target_revision(given),
        release=_release(given),
    )
    return parameters, tuple(told)


def _truth(value: object) -> bool | None:
    """Return what a boolean means that clients send as a text in any case; None if it is neither."""
    return {"true": True, "false": False}.get(str(value).lower()) if isinstance(value, bool | str) else None


def _lenient(given: Mapping[str, Any], key: str, told: list[Finding]) -> bool | None:
    """Return a boolean for which upstream takes anything: what is not "true" counts as false, and is told."""
    if key not in given:
        return None
    meant = _truth(given[key])
    if meant is None:
        told.append(
            warning(
                "ParameterNotUnderstood",
                f"The parameter {key} is {_shown(given[key])}, which counts as false. It is either true or false.",
                path=f"/parameters/{_pointer(key)}",
            )
        )
    return bool(meant)


def _strict(given: Mapping[str, Any], key: str) -> bool:
    meant = _truth(given.get(key, False))
    if meant is None:
        raise _refused(key, f"it is either true or false, not {_shown(given[key])}")
    return meant


def _targets(given: Mapping[str, Any]) -> tuple[NodeName, ...]:
    if SERVER_NAME not in given:
        return parse_targets(given.get(TARGET_NODES))
    if TARGET_NODES in given:
        raise _refused(SERVER_NAME, f"give either {SERVER_NAME} or {TARGET_NODES}")
    return parse_targets([given[SERVER_NAME]])


def _target_revision(given: Mapping[str, Any]) -> TargetRevision:
    if TARGET_REVISION not in given:
        return TargetRevision.SUCCESSFUL_SITE_ACTION
    for revision in TargetRevision:
        if revision.value == given[TARGET_REVISION]:
            return revision
    words = ", ".join(revision.value for revision in TargetRevision)
    raise _refused(TARGET_REVISION, f"{_shown(given[TARGET_REVISION])} is none of {words}")


def _release(given: Mapping[str, Any]) -> str | None:
    release = given.get(RELEASE)
    if release is not None and not isinstance(release, str):
        raise _refused(RELEASE, f"it is the name of a release, not {_shown(release)}")
    return release or None


def _unknown(name: ActionName, key: str, known: frozenset[str]) -> Finding:
    likely = difflib.get_close_matches(key.lower().replace("_", "-"), {one.replace("_", "-") for one in known}, 1)
    meant = next((one for one in sorted(known) if likely and one.replace("_", "-") == likely[0]), None)
    elsewhere = sorted(other.value for other, keys in KNOWN.items() if key in keys)
    message = f"The parameter {_shown(key)} means nothing to {name.value}."
    if meant:
        message += f" Did you mean {meant}?"
    elif elsewhere:
        message += f" It belongs to {', '.join(elsewhere)}."
    else:
        message += f" {name.value} knows {', '.join(sorted(known))}."
    return warning("UnknownParameter", message, path=f"/parameters/{_pointer(key)}")


def _refused(key: str, why: str) -> Invalid:
    found = error("InvalidParameter", f"The parameter {key} is wrong: {why}.", path=f"/parameters/{_pointer(key)}")
    return Invalid("Invalid parameters", found.message, [found])


def _pointer(key: str) -> str:
    """Return a key as a part of a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
