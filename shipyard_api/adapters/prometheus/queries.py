"""Queries of a Prometheus (its HTTP API v1: instant queries)."""

from collections.abc import Mapping, Sequence
from typing import Any

from shipyard_api.http import HttpClient, Response
from shipyard_api.ports.errors import Refused
from shipyard_api.ports.metrics import QueryResult

SYSTEM = "Prometheus"
_NAMED = 3  # series in a text
_LONGEST = 300


class PrometheusQueries:
    """Fills ``ports.metrics.Queries``. ``ca_file``: empty for the well-known authorities; times in seconds."""

    name = SYSTEM

    def __init__(
        self, url: str, *, token: str = "", ca_file: str = "", connect_timeout: float = 5.0, read_timeout: float = 15.0
    ) -> None:
        self._http = HttpClient(
            url,
            system=SYSTEM,
            credentials=lambda: {"Authorization": f"Bearer {token}"} if token else {},
            connect_timeout=connect_timeout,
            read_timeout=read_timeout,
            total_timeout=2 * read_timeout,
            ca_file=ca_file,
        )

    def ask(self, query: str) -> QueryResult:
        """Evaluate a query now: it holds if it returns a series, or a scalar that is not 0.

        Raises Refused for a query that Prometheus rejects, Unavailable without a usable answer.
        """
        answer = self._http.get("api/v1/query", params={"query": query})
        body = answer.object() if answer.ok or answer.status in (400, 422) else {}
        if body.get("status") == "error":
            why = f"{body.get('errorType')}: {body.get('error')}"
            raise Refused(SYSTEM, answer.operation, answer.scrubber(why, _LONGEST), code=answer.status)
        if not answer.ok:
            raise Refused(SYSTEM, answer.operation, f"answered {answer.status}", code=answer.status)
        data = body.get("data")
        if body.get("status") != "success" or not isinstance(data, dict):
            raise answer.unexpected()
        return _result(answer, data)


def _result(answer: Response, data: Mapping[str, Any]) -> QueryResult:
    result, kind = data.get("result"), data.get("resultType")
    if not isinstance(result, list):
        raise answer.unexpected()
    if kind == "vector":
        series = [entry for entry in result if isinstance(entry, dict)]
        shown = ", ".join(f"{_labels(entry)} {_value(answer, entry.get('value'))}" for entry in series[:_NAMED])
        omitted = f" and {len(series) - _NAMED} more" if len(series) > _NAMED else ""
        return QueryResult(bool(series), answer.scrubber(f"{shown}{omitted}", _LONGEST) if series else "no series")
    if kind == "scalar":
        value = _value(answer, result)
        return QueryResult(value not in ("0", "-0", "NaN"), value)
    raise Refused(SYSTEM, answer.operation, f"the query returns a {kind}; it must return an instant vector or a scalar")


def _labels(series: Mapping[str, Any]) -> str:
    metric = series.get("metric")
    labels = dict(metric) if isinstance(metric, dict) else {}
    name = labels.pop("__name__", "")
    inner = ", ".join(f'{key}="{value}"' for key, value in sorted(labels.items()))
    return f"{name}{{{inner}}}" if inner or not name else str(name)


def _value(answer: Response, sample: Any) -> str:
    if not (isinstance(sample, Sequence) and len(sample) == 2 and isinstance(sample[1], str)):  # [time, text]
        raise answer.unexpected()
    return sample[1]
