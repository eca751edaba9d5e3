"""Drift: how the site differs from what an action left. Shipyard v1.0 has no such resource."""

from typing import Any, ClassVar

import falcon

from shipyard_api.api.entities.actions import Case
from shipyard_api.api.entities.types import zulu
from shipyard_api.api.http.authentication import Policy
from shipyard_api.api.http.reading import words
from shipyard_api.api.http.threads import threaded_peer
from shipyard_api.domain.drift.differences import Difference
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.specification.impact import NodeImpact
from shipyard_api.usecases.drift.find import Drift, FindDrift, Since


class SiteDifferences:
    """``/site/differences``: what the provisioner and Kubernetes show now, against what an action left."""

    policy: ClassVar[Policy] = {"GET": "workflow_orchestrator:get_site_statuses"}

    def __init__(self, drift: FindDrift) -> None:
        self._drift = drift

    @threaded_peer
    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer with a row for each difference, and with what could not be compared."""
        given = words(req, "since", [choice.value for choice in Since])
        if len(given) > 1:
            raise falcon.HTTPInvalidParam(f"The parameter takes one value, not {len(given)}.", "since")
        since = Since(given[0]) if given else Since.SUCCESSFUL_SITE_ACTION
        drift = self._drift(since)
        resp.media = {
            "since": since.value,
            "action": {"id": drift.base.id, "name": drift.base.name, "ended_at": zulu(drift.base.ended_at)},
            "compared": drift.compared,
            "cases": [Case.of(case) for case in drift.cases],
            "differences": [_row(system, row) for system, rows in drift.differences.items() for row in rows],
            "to_do": None if drift.to_do is None else [_to_do(node, entry) for node, entry in drift.to_do.items()],
            **_left_out(drift),
        }


def _to_do(node: NodeName, entry: NodeImpact) -> dict[str, Any]:
    return {"node": node, "class": entry.impact.value, "aspects": list(entry.aspects)}


def _row(system: str, difference: Difference) -> dict[str, Any]:
    return {
        "node": difference.node,
        "kind": difference.kind.value,
        "expected": difference.expected,
        "seen": difference.seen,
        "since": zulu(difference.since),
        "system": system,
    }


def _left_out(drift: Drift) -> dict[str, Any]:
    return {
        "unanswered": [{"system": unanswered.system, "why": unanswered.why} for unanswered in drift.unanswered],
        "skipped": [{"node": node, "action_id": action} for node, action in sorted(drift.skipped.items())],
        "unsighted": list(drift.unsighted),
    }
