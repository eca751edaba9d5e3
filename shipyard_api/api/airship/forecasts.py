"""Forecasts: how an action is likely to go, and how a running one goes on; ours, beside the contract."""

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

import falcon
import falcon.asgi

from shipyard_api.api.airship.costly_work import CostlyWork
from shipyard_api.api.airship.errors import InvalidPlan
from shipyard_api.api.airship.parameters import action_name
from shipyard_api.api.http.authentication import Policy
from shipyard_api.api.http.limits import NO_WRITE
from shipyard_api.api.http.reading import boolean, parse_checked, read_json_body
from shipyard_api.domain.documents import Version
from shipyard_api.domain.groups import Phase
from shipyard_api.domain.rollout.assumptions import Beta, PhaseAssumption
from shipyard_api.domain.rollout.forecast import Estimate, GroupForecast, PhaseForecast, Seconds
from shipyard_api.domain.rollout.relaxing import Relaxation
from shipyard_api.domain.strategy.criteria import SuccessCriteria
from shipyard_api.domain.strategy.strategy import GroupName
from shipyard_api.ports.schemas import Schemas
from shipyard_api.usecases.actions.forecast import FEW_NODE_RUNS, RUNS, ActionForecast, ForecastAction, Question
from shipyard_api.usecases.actions.request import ActionRequest

_RULE = "workflow_orchestrator:get_forecast"


class Forecasts:
    """``/forecasts``: how what POST /actions, or a retry, would do is likely to go."""

    policy: ClassVar[Policy] = {"POST": _RULE}
    write_cost: ClassVar[float] = NO_WRITE

    def __init__(self, forecast: ForecastAction, schemas: Schemas, limit: int, costly: CostlyWork) -> None:
        self._forecast = forecast
        self._costly = costly
        self._schemas = schemas
        self._limit = limit

    async def on_post(self, req: falcon.asgi.Request, resp: falcon.Response) -> None:
        """Answer with the forecast; nothing is stored."""
        self._costly.admit(req)
        body = await read_json_body(req, self._limit)
        await self._costly.answer(req, resp, partial(self._post, req, resp, body), body)

    def _post(self, req: falcon.Request, resp: falcon.Response, sent: bytes) -> None:
        body = parse_checked(req.path, sent, self._schemas, "forecast_v1")
        if ("name" in body) == ("retry" in body) or ("retry" in body and body.keys() & {"parameters", "version"}):
            raise InvalidPlan()
        question = _question(body)
        if "retry" in body:
            outlook = self._forecast.retry(body["retry"], question)
        else:
            request = ActionRequest(
                action_name(body["name"]),
                body.get("parameters", {}),
                boolean(req, "allow-intermediate-commits", default=None),
            )
            outlook = self._forecast(request, Version(body.get("version", Version.COMMITTED.value)), question)
        resp.media = {**_entity(outlook), "seconds": _seconds(outlook.forecast.seconds)}


class ActionForecasts:
    """``/actions/{action_id}/forecast``: how an action goes on from its current state."""

    policy: ClassVar[Policy] = {"GET": _RULE}

    def __init__(self, forecast: ForecastAction, costly: CostlyWork) -> None:
        self._forecast = forecast
        self._costly = costly

    async def on_get(self, req: falcon.asgi.Request, resp: falcon.Response, action_id: str) -> None:
        """Answer with the forecast of the rest of the action, or of all of it as it was when it started."""
        await self._costly.answer(req, resp, partial(self._get, req, resp, action_id))

    def _get(self, req: falcon.Request, resp: falcon.Response, action_id: str) -> None:
        question = Question(node_runs=FEW_NODE_RUNS)
        if boolean(req, "from-start", default=False):
            outlook = self._forecast.started(action_id, question)
        else:
            outlook = self._forecast.running(action_id, question)
        entity = {
            **_entity(outlook),
            "seconds_left": _seconds(outlook.forecast.seconds),
            "not_known": outlook.not_known,
        }
        resp.media = _without_guesses(entity) if outlook.not_known else entity


def _without_guesses(entity: dict[str, Any]) -> dict[str, Any]:
    """Return a forecast of what cannot be predicted: what has happened is certain, and the rest is null."""

    def certain(estimate: dict[str, float]) -> dict[str, float] | None:
        return estimate if estimate["low"] == estimate["high"] else None

    groups = [
        {**group, "success": certain(group["success"]), "starts": None, "seconds": None, "phases": []}
        for group in entity["groups"]
    ]
    # A success so far does not predict the rest; a failed critical group is final.
    failed = entity["success"]["high"] == 0.0
    unknown = {"success": entity["success"] if failed else None, "nodes_lost": None, "seconds_left": None}
    return {**entity, **unknown, "groups": groups, "relax": None}


def _question(body: Mapping[str, Any]) -> Question:
    failing = body.get("failure_probability", {})
    failures = failing if isinstance(failing, dict) else {phase.value: failing for phase in Phase}
    return Question(
        {Phase(phase): float(probability) for phase, probability in failures.items()},
        int(body.get("runs", RUNS)),
        int(body.get("seed", Question().seed)),
        {
            GroupName(group): SuccessCriteria(**{name: int(value) for name, value in criteria.items()})
            for group, criteria in body.get("criteria", {}).items()
        },
    )


def _entity(outlook: ActionForecast) -> dict[str, Any]:
    forecast = outlook.forecast
    return {
        "runs": forecast.runs,
        "seed": outlook.seed,
        "source": outlook.source.value,
        "assumed": {
            phase.value: _assumed(assumption, outlook.history[phase].nodes)
            for phase, assumption in outlook.assumptions.items()
        },
        "success": _estimate(forecast.success),
        "nodes_lost": {"mean": round(forecast.nodes_lost, 3)},
        "groups": [_group(group) for group in forecast.groups],
        "relax": _relax(forecast.relax) if forecast.relax else None,
    }


def _assumed(assumption: PhaseAssumption, nodes: int) -> dict[str, Any]:
    failure, seconds = assumption.failure, assumption.seconds
    measured = isinstance(failure, Beta)
    return {
        "failure_probability": round(failure.mean if isinstance(failure, Beta) else failure, 6),
        "measured_nodes": nodes if measured else 0,
        "seconds": {"p50": round(seconds[len(seconds) // 2], 1)},
    }


def _estimate(estimate: Estimate) -> dict[str, float]:
    return {
        "probability": round(estimate.probability, 6),
        "low": round(estimate.low, 6),
        "high": round(estimate.high, 6),
    }


def _seconds(seconds: Seconds) -> dict[str, float]:
    return {"p10": round(seconds.p10, 1), "p50": round(seconds.p50, 1), "p90": round(seconds.p90, 1)}


def _group(group: GroupForecast) -> dict[str, Any]:
    return {
        "name": group.name,
        "critical": group.critical,
        "success": _estimate(group.success),
        "nodes": group.nodes,
        "starts": _median(group.starts),
        "seconds": _median(group.seconds),
        "phases": [_phase(phase, phase_forecast) for phase, phase_forecast in group.phases.items()],
    }


def _phase(phase: Phase, phase_forecast: PhaseForecast) -> dict[str, Any]:
    return {"phase": phase.value, "starts": _median(phase_forecast.starts), "seconds": _median(phase_forecast.seconds)}


def _median(seconds: float | None) -> dict[str, float] | None:
    return None if seconds is None else {"p50": round(seconds, 1)}


def _relax(relax: Relaxation) -> dict[str, Any]:
    return {
        "group": relax.group,
        "criterion": relax.criterion.value,
        "from": relax.from_value,
        "to": relax.to_value,
        "probability_after": round(relax.probability_after, 6),
    }
