"""Evictions and deletions of many pods, some at a time (contract: promenade, 4.1, step 5)."""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event

from shipyard_api.adapters.kubernetes.answer import SYSTEM, Answer
from shipyard_api.adapters.kubernetes.client import KubernetesClient
from shipyard_api.adapters.kubernetes.translate import POLICY_V1, POLICY_V1BETA1
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.teardown.pods import Pod, PodUid
from shipyard_api.http import segment
from shipyard_api.observing.request_context import propagated
from shipyard_api.ports.cluster import Eviction, EvictionOutcome
from shipyard_api.ports.errors import PeerError, Refused, Unavailable

AT_ONCE = 20
LONGEST = 25.0  # seconds for all pods of one call

_CORE = "api/v1"


def evict(client: KubernetesClient, pods: Sequence[Pod], *, grace: int) -> Mapping[PodUid, Eviction]:
    """Return the answers; a pod without one is missing. Raises for a missing right, or if no pod has an answer."""
    version = _eviction_version(client)
    answers, errors = _in_parallel(pods, lambda pod, seconds: _evict(client, pod, version, grace, seconds))
    known = {uid: _read(client, answer) for uid, answer in answers.items()}
    known_answers = {uid: eviction for uid, eviction in known.items() if eviction is not None}
    unknown = [client.failure(answer) for uid, answer in answers.items() if uid not in known_answers]
    for error in unknown:
        if isinstance(error, Refused) and error.code in (401, 403):
            raise error
    if not known_answers:
        raise next(iter([*unknown, *errors]), Unavailable(SYSTEM, "evictions", f"no answer within {LONGEST:g} s"))
    return known_answers


def delete(client: KubernetesClient, pods: Sequence[Pod], *, grace: int) -> None:
    """Delete the pods that still are what was read. Raises the first failure after the others were tried."""
    answers, errors = _in_parallel(pods, lambda pod, seconds: _delete(client, pod, grace, seconds))
    for answer in answers.values():
        if not (answer.lacks_object or answer.status == 409):
            client.expected(answer)
    if errors:
        raise errors[0]


def _read(client: KubernetesClient, answer: Answer) -> Eviction | None:
    """Return what the API server answered, None if that is no answer to an eviction."""
    said, pause = client.quoted(answer), answer.retry_after or 0.0
    outcome = outcome_of(answer)
    if outcome in (None, EvictionOutcome.ACCEPTED, EvictionOutcome.GONE):
        return None if outcome is None else Eviction(outcome)
    return Eviction(outcome, said or answer.response.answered(""), pause)


def outcome_of(answer: Answer) -> EvictionOutcome | None:
    """Return the outcome of one eviction, None for a failure that says nothing about the pod."""
    text = answer.text.lower()
    if answer.status in (200, 201):
        return EvictionOutcome.ACCEPTED
    # Another 409 means that the pod or its budget was just changed.
    if answer.lacks_object or (answer.status == 409 and "precondition" in text):
        return EvictionOutcome.GONE
    if answer.status == 429:
        return EvictionOutcome.BLOCKED
    if answer.status == 403 and "NamespaceTerminating" in answer.causes:
        return EvictionOutcome.ENDING_WITH_NAMESPACE
    if answer.status == 500 and "more than one poddisruptionbudget" in text:
        return EvictionOutcome.NEVER
    return None


def _eviction_version(client: KubernetesClient) -> str:
    """Return the API version of evictions; before Kubernetes 1.22 the API server rejects policy/v1."""
    answer = client.read(_CORE)
    resources = answer.object().get("resources") if answer else None
    for resource in resources or ():
        if isinstance(resource, dict) and resource.get("name") == "pods/eviction":
            version = f"{resource.get('group')}/{resource.get('version')}"
            return version if version in (POLICY_V1, POLICY_V1BETA1) else POLICY_V1
    raise Unavailable(SYSTEM, f"GET /{_CORE}", "it has no evictions of pods")


def _evict(client: KubernetesClient, pod: Pod, version: str, grace: int, seconds: float) -> Answer:
    body: JsonObject = {
        "apiVersion": version,
        "kind": "Eviction",
        "metadata": {"name": pod.name, "namespace": pod.namespace},
        "deleteOptions": _options(pod, grace),
    }
    return client.send("POST", f"{_path(pod)}/eviction", body, seconds=seconds)


def _delete(client: KubernetesClient, pod: Pod, grace: int, seconds: float) -> Answer:
    body = {"apiVersion": "v1", "kind": "DeleteOptions", **_options(pod, grace)}
    return client.send("DELETE", _path(pod), body, seconds=seconds)


def _options(pod: Pod, grace: int) -> JsonObject:
    return {"gracePeriodSeconds": grace, "preconditions": {"uid": pod.uid}}


def _path(pod: Pod) -> str:
    return f"{_CORE}/namespaces/{segment(pod.namespace)}/pods/{segment(pod.name)}"


def _in_parallel(
    pods: Sequence[Pod], request: Callable[[Pod, float], Answer]
) -> tuple[dict[PodUid, Answer], list[PeerError]]:
    """Send a request for each pod, in order, until the time is over or a right is missing."""
    deadline = time.monotonic() + LONGEST
    answers: dict[PodUid, Answer] = {}
    errors: list[PeerError] = []
    refused = Event()

    def send(pod: Pod) -> None:
        seconds = deadline - time.monotonic()
        if seconds <= 0 or refused.is_set():
            return
        try:
            answer = answers[pod.uid] = request(pod, seconds)
        except PeerError as error:
            errors.append(error)
            return
        if answer.status == 401 or (answer.status == 403 and outcome_of(answer) is None):
            refused.set()

    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="evictions") as threads:
        for _ in threads.map(propagated(send), pods):
            pass
    return answers, errors
