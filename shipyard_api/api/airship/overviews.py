"""An action at a glance, and where its nodes stand: what a live view needs. Shipyard v1.0 has no such resources."""

from collections.abc import Collection, Sequence
from functools import partial
from typing import Any, ClassVar

import falcon
from msgspec import UNSET

from shipyard_api.api.airship.action_views import cases, summary, verdict
from shipyard_api.api.airship.rendered_actions import RenderedActions
from shipyard_api.api.entities import reports as entities
from shipyard_api.api.entities.groups import OverviewGroup
from shipyard_api.api.entities.types import zulu
from shipyard_api.api.http.authentication import Policy
from shipyard_api.api.http.entity_tags import holds
from shipyard_api.api.http.threads import threaded
from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.approvals import WaveGate
from shipyard_api.domain.rollout.policy.budgets import BudgetUse
from shipyard_api.domain.rollout.policy.survey import Survey, SurveyedGate, SurveyedWave
from shipyard_api.usecases.actions.describe import DescribeAction
from shipyard_api.usecases.actions.overview import Overview, OverviewAction
from shipyard_api.usecases.actions.way_back import way_back


class ActionOverview:
    """``/actions/{action_id}/overview``: groups, phases and one letter for each node."""

    policy: ClassVar[Policy] = {"GET": "workflow_orchestrator:get_action"}

    def __init__(self, describe: DescribeAction, overview: OverviewAction, rendered: RenderedActions) -> None:
        self._describe = describe
        self._overview = overview
        self._rendered = rendered

    @threaded
    def on_get(self, req: falcon.Request, resp: falcon.Response, action_id: str) -> None:
        """Answer with the action at a glance; its nodes are letters, in the order of the action's node places."""
        if req.get_header("If-None-Match") and holds(req, resp, "overview", self._describe.version(action_id)):
            return
        tag, resp.data = self._rendered.one(ActionId(action_id), ("overview", 0), partial(self._read, action_id))
        holds(req, resp, "overview", tag)
        resp.content_type = falcon.MEDIA_JSON

    def _read(self, action_id: str, known: str) -> tuple[str, entities.Overview | None]:
        if known and known == self._describe.version(action_id):
            return known, None
        overview = self._overview(action_id)
        return overview.version, _entity(overview)


class ActionNodePlaces:
    """``/actions/{action_id}/node-places``: the names, groups and racks of the nodes."""

    policy: ClassVar[Policy] = {"GET": "workflow_orchestrator:get_action"}

    def __init__(self, overview: OverviewAction) -> None:
        self._overview = overview

    @threaded
    def on_get(self, _req: falcon.Request, resp: falcon.Response, action_id: str) -> None:
        """Answer with columns, in order of name; groups and racks are places in their lists."""
        places = self._overview.places(action_id)
        groups = sorted({group for held in places.groups for group in held})
        racks = sorted({rack for rack in places.racks if rack})
        at_group, at_rack = _positions(groups), _positions(racks)
        resp.media = {
            "groups": groups,
            "racks": racks,
            "names": list(places.names),
            "groups_of": [[at_group[group] for group in held] for held in places.groups],
            "rack_of": [at_rack.get(rack) for rack in places.racks],
        }


def _positions(names: Sequence[str]) -> dict[str, int]:
    return {name: place for place, name in enumerate(names)}


def _entity(overview: Overview) -> entities.Overview:
    action = overview.action
    return entities.Overview(
        action=summary(entities.OverviewAction, action, verdict=verdict(action.state)),
        way_back=way_back(action, overview.failed, overview.cordoned, overview.lacking),
        older=overview.older,
        groups=[OverviewGroup.of(listed, listed.group) for listed in overview.groups],
        nodes=entities.LetteredNodes(len(overview.letters), overview.letters),
        policy=_policy(overview.policy, overview.waiting) if overview.policy else UNSET,
        warnings=overview.warnings or UNSET,
        **cases(action, overview.cases),
    )


def _policy(survey: Survey, waiting: Sequence[WaveGate]) -> dict[str, Any]:
    asked = {(gate.group, gate.wave, gate.index) for gate in waiting}
    return {
        "waits_for": [gate.to_json() for gate in waiting],
        "waves": [_wave(wave, asked) for wave in survey.waves],
        "budgets": [_budget(budget) for budget in survey.budgets],
        "windows": [{"begins": zulu(begin), "ends": zulu(end)} for begin, end in survey.spans],
    }


def _wave(wave: SurveyedWave, asked: Collection[tuple[str, str, int]]) -> dict[str, Any]:
    return {
        "group": wave.group or None,
        "name": wave.name,
        "state": wave.standing.value,
        "nodes": {
            "total": wave.nodes,
            "begun": wave.begun,
            "success": wave.deployed,
            "lost": wave.lost,
            "stopped": wave.stopped,
        },
        "missed": wave.missed,
        "gates": [
            {**_gate(gate), "asks_person": (wave.group, wave.name, index) in asked}
            for index, gate in enumerate(wave.gates)
        ],
    }


def _gate(surveyed: SurveyedGate) -> dict[str, Any]:
    return {
        "kind": surveyed.gate.kind.value,
        "text": str(surveyed.gate),
        "state": surveyed.standing.value,
        "until": zulu(surveyed.until),
        "by": surveyed.by,
        "detail": surveyed.detail,
    }


def _budget(use: BudgetUse) -> dict[str, Any]:
    domain = use.domain
    return {
        "name": domain.budget.name,
        "by": domain.budget.by,
        "value": domain.value,
        "nodes": len(domain.nodes),
        "unavailable": use.taken,
        "max_unavailable": domain.unavailable,
        "max_away": domain.away,
        "lost": use.lost,
        "max_lost": domain.lost,
        "full": use.full,
    }
