"""Reads a release and a cluster of nailgun, the server of Fuel (contract: fuel-task-graph, 2.3 and 5)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shipyard_api.cli.errors import ApiError, UnreadableError
from shipyard_api.cli.global_options import ca_bundle
from shipyard_api.cli.output.shapes import JsonObject, as_object, as_objects, parse_json
from shipyard_api.http import HttpClient, Response
from shipyard_api.ports.errors import PeerError

_API = "/api/v1"
_SHOWN = 200  # characters of an answer in an error


@dataclass(frozen=True, slots=True)
class FuelDesign:
    """A cluster of Fuel with its release; what the cluster has of its own is what differs from the release."""

    release: JsonObject
    tasks: Sequence[JsonObject]
    cluster: str
    own_roles: Mapping[str, JsonObject]
    own_tags: Mapping[str, JsonObject]
    own_tasks: Sequence[JsonObject]


class Nailgun:
    """One nailgun, of Fuel 6.1 or later; its address may end in ``/api/v1`` or not. ``token``: empty for none."""

    def __init__(self, url: str, token: str) -> None:
        try:
            self._http = HttpClient(
                url.rstrip("/").removesuffix(_API) + _API,
                system="Nailgun",
                credentials=(lambda: {"X-Auth-Token": token}) if token else None,
                ca_file=ca_bundle(),
            )
        except ValueError as error:
            raise ApiError(f"Error: --url: {error}") from error

    def design(self, cluster: int | None) -> FuelDesign:
        """Return a cluster with its release; None: the only cluster. Raises ApiError."""
        chosen = self._cluster(cluster)
        number, release_id = int(chosen["id"]), int(chosen["release_id"])
        release = _object(self._get(f"releases/{release_id}/"))
        roles = as_object(release.get("roles_metadata") or {}, "roles_metadata")
        tags_metadata = as_object(release.get("tags_metadata") or {}, "tags_metadata")
        tags = {name: _with_primary(meta) for name, meta in tags_metadata.items()}
        tasks = self._list(f"releases/{release_id}/deployment_tasks")
        cluster_tags = {name: _with_primary(meta) for name, meta in self._labels(number, "tags").items()}
        return FuelDesign(
            release={
                **{name: str(release.get(name) or "") for name in ("name", "version", "operating_system")},
                "tags_metadata": tags,
                "roles_metadata": roles,
            },
            tasks=tasks,
            cluster=str(chosen.get("name") or number),
            own_roles={
                name: {"tags": [], **meta}
                for name, meta in self._labels(number, "roles").items()
                if meta != roles.get(name)
            },
            own_tags={name: meta for name, meta in cluster_tags.items() if meta != tags.get(name)},
            own_tasks=_own(tasks, self._list(f"clusters/{number}/deployment_tasks")),
        )

    def _cluster(self, number: int | None) -> JsonObject:
        clusters = self._list("clusters/")
        matching = [
            cluster
            for cluster in clusters
            if number in (None, cluster.get("id")) and isinstance(cluster.get("release_id"), int)
        ]
        if len(matching) == 1:
            return matching[0]
        names = ", ".join(f"{cluster.get('id')} ({cluster.get('name')})" for cluster in clusters) or "none"
        hint = "Choose one with --cluster" if number is None else f"There is no cluster {number}"
        raise ApiError(f"Error: {hint}; Fuel's clusters: {names}.")

    def _labels(self, cluster: int, word: str) -> Mapping[str, JsonObject]:
        """Return the roles or tags of a cluster; a Fuel before 10.0 has none of its own."""
        answer = self._get(f"clusters/{cluster}/{word}/")
        if answer.status in (404, 405):
            return {}
        return {str(entry.get("name")): dict(entry.get("meta") or {}) for entry in _objects(answer)}

    def _list(self, path: str) -> Sequence[JsonObject]:
        return _objects(self._get(path))

    def _get(self, path: str) -> Response:
        try:
            return self._http.send("GET", path)
        except PeerError as error:
            raise ApiError(f"Error: {error}", temporary=True) from error


def _own(release: Sequence[JsonObject], cluster: Sequence[JsonObject]) -> Sequence[JsonObject]:
    """Return the tasks of a cluster that its release does not have so.

    A Fuel 6.1 cluster may lack tasks of its release: such tasks become skipped.
    """
    of_release = {task.get("id"): task for task in release}
    kept = {task.get("id") for task in cluster}
    lost = [{"id": name, "type": "skipped"} for name in of_release if name not in kept]
    return [task for task in cluster if task != of_release.get(task.get("id"))] + lost


def _with_primary(meta: Mapping[str, Any]) -> JsonObject:
    return {"has_primary": False, **meta}


def _object(answer: Response) -> JsonObject:
    return as_object(_json(answer), answer.operation)


def _objects(answer: Response) -> Sequence[JsonObject]:
    # A release of 6.1 answers null if it has no tasks.
    return as_objects(_json(answer) or [], answer.operation)


def _json(answer: Response) -> Any:
    if answer.status == 401:
        raise ApiError("Error: Nailgun requires a token: set FUEL_TOKEN.")
    if not answer.ok:
        raise ApiError(f"Error: Nailgun answered {answer.operation} with {answer.status}: {answer.text[:_SHOWN]}")
    try:
        return parse_json(answer.text)
    except UnreadableError as error:
        raise ApiError(f"Error: Nailgun answered {answer.operation} with {error}") from error
