"""The way back of an ended action in which something failed: the next commands, as report, page and CLI show them."""

from collections.abc import Sequence
from typing import Any

from shipyard_api.actions.admission import commits_used
from shipyard_api.actions.catalog import ACTIONS
from shipyard_api.actions.redeploy_server import REDEPLOY_SERVER
from shipyard_api.domain.actions import ENDED, RunState
from shipyard_api.domain.node_sets import fold
from shipyard_api.domain.remedies import Remedy, Way, command, retry, uncordon
from shipyard_api.domain.specification.given import older_specification
from shipyard_api.ports.state.actions import ActionRecord

_REPAIRED = "when the cause is repaired; it keeps the nodes that are deployed"
_REPEATED = "when the cause is repaired"
_CORRECTED = "to use a design that was corrected and committed since"
_AGAIN = "if a retry fails the same way; it drains and erases these servers, then deploys them again"
_AGAIN_PRESERVED = (
    "if a retry fails the same way; it drains these servers, then deploys them again as this action would"
)


_REMEDIED = {
    Way.RELABEL: "only labels differ, and this sets them",
    Way.SERVICE: "only steps of deploy templates differ, and this drains them and runs the steps; it erases nothing",
    Way.REDEPLOY: "this drains and erases them, then installs the new one",
}
_UNCORDONED = "to use this server as it is: the action left it cordoned"
_MOST_CORDONED = 5


def way_back(
    action: ActionRecord, failed: Sequence[str], cordoned: Sequence[str] = (), lacking: Sequence[Remedy] = ()
) -> list[dict[str, Any]]:
    """Return the next commands, the usual one first; none unless something failed, or was left as it was.

    ``failed``: the nodes that did; ``cordoned``: those that the action left cordoned; ``lacking``: what
    gives those that it left alone with an older specification the new one.
    """
    kind = ACTIONS[action.name]
    if action.state not in ENDED or not kind.listed:
        return []
    commands: list[tuple[str, str]] = []
    if action.state is not RunState.SUCCESS or failed:
        commands.append((retry(action.id), _REPAIRED if failed and kind.deploys else _REPEATED))
    if commands and failed and kind.deploys:
        again = _redeploy(action, failed)
        commands.append((again, _AGAIN if commits_used in kind.admission else _AGAIN_PRESERVED))
    elif commands and commits_used in kind.admission:
        commands.append((command(action.name, {}), _CORRECTED))
    commands += [
        (_remedy(action, remedy), f"{older_specification(remedy.nodes)}; {_REMEDIED[remedy.way]}") for remedy in lacking
    ]
    commands += [(uncordon(node), _UNCORDONED) for node in cordoned[:_MOST_CORDONED]]
    return [{"command": line, "when": when} for line, when in commands]


def _remedy(action: ActionRecord, remedy: Remedy) -> str:
    if remedy.way is Way.REDEPLOY:
        return _redeploy(action, remedy.nodes)
    template = {"template": remedy.template} if remedy.template else {}
    return command(remedy.way.value, {**template, "target_nodes": fold(remedy.nodes)})


def _redeploy(action: ActionRecord, failed: Sequence[str]) -> str:
    """Return the redeployment of these servers.

    Only a whole-site action tags its revision, so ``last-site-action`` is that one. A targeted action keeps its own
    parameters: without them, data disks that it preserves would be erased.
    """
    redeployment = (
        {"target-revision": "last-site-action"} if commits_used in ACTIONS[action.name].admission else action.parameters
    )
    return command(REDEPLOY_SERVER.name, {**redeployment, "target_nodes": fold(failed)})
