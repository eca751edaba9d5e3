"""Requests to an API server: whole lists, single objects and changes, with failures as ``ports.errors``."""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from shipyard_api.adapters.kubernetes.access import Access, connection
from shipyard_api.adapters.kubernetes.answer import SYSTEM, Answer
from shipyard_api.adapters.kubernetes.translate import one_line
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.http import HttpClient, RequestOptions
from shipyard_api.http.restarts import EXPLANATION
from shipyard_api.observing.scrubbing import Scrubber
from shipyard_api.ports.errors import Busy, PeerError, Refused, Unavailable

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


class Right(Struct, frozen=True):
    """A right to one verb on one resource. ``namespace`` is empty for all namespaces, and outside of any."""

    verb: str
    resource: str
    group: str = ""
    namespace: str = ""

    def __str__(self) -> str:
        resource, slash, subresource = self.resource.partition("/")
        named = f"{resource}.{self.group}" if self.group else resource
        return f"{self.verb} {named}{slash}{subresource}" + (f" in {self.namespace}" if self.namespace else "")


def needed_right(method: str, path: str) -> Right | None:
    """Return the right that a request needs, None for discovery, which every user may do."""
    parts = path.strip("/").split("/")
    group, rest = ("", parts[2:]) if parts[0] == "api" else (parts[1] if len(parts) > 1 else "", parts[3:])
    namespace = ""
    if len(rest) > 2 and rest[0] == "namespaces":
        namespace, rest = rest[1], rest[2:]
    if not rest:
        return None
    verb = _VERBS.get(method, "get" if len(rest) > 1 else "list")
    return Right(verb, "/".join((rest[0], *rest[2:])), group, namespace)


PAGE = 500
MERGE_PATCH = "application/merge-patch+json"
LONGEST_TEXT = 1000  # characters of the API server's message

_LISTINGS = 3
_RETRIED = frozenset(range(500, 600))


class KubernetesClient:
    """One API server; may be shared by threads. Nothing is connected before the first request.

    ``connect_timeout``, ``read_timeout``: seconds for the connection, and between two pieces of an answer; a whole
    answer must arrive within twice the latter. ``page``: objects that are asked for at once. ``first_pause``: seconds
    before a second attempt, doubled for the third. Raises ValueError for an access that cannot be used.
    """

    def __init__(
        self,
        access: Access,
        *,
        connect_timeout: float = 5.0,
        read_timeout: float = 30.0,
        first_pause: float = 0.2,
        page: int = PAGE,
    ) -> None:
        opened = connection(access)
        self.scrubber = Scrubber(*opened.secrets)
        self._http = HttpClient(
            opened.url,
            system=SYSTEM,
            credentials=opened.credentials,
            scrubber=self.scrubber,
            connect_timeout=connect_timeout,
            read_timeout=read_timeout,
            total_timeout=2 * read_timeout,
            retried=_RETRIED,
            first_pause=first_pause,
            tls=opened.tls,
        )
        self._page = page

    def nodes(self) -> list[JsonObject]:
        """Return all Node objects of the cluster; raises as ``listed``."""
        return self.listed("api/v1/nodes", "NodeList")

    def listed(self, path: str, kind: str, **selectors: str) -> list[JsonObject]:
        """Return all objects of a list, page by page; may be repeated. ``kind``: of the list.

        Raises Busy for 429 and for 503 with Retry-After, Refused for any other 4xx, else Unavailable without such a
        list. Quick failures are retried a few times.
        """
        for _ in range(_LISTINGS):
            try:
                return [entry for page in self._pages(path, kind, selectors) for entry in page]
            except _Expired:
                # Parts of two lists would not be consistent.
                continue
        raise Unavailable(SYSTEM, f"GET /{path}", f"the list expired {_LISTINGS} times before all of it was read")

    def read(self, path: str) -> Answer | None:
        """Return a successful answer, None if the API server has no such object; raises and retries as ``listed``."""
        answer = self.send("GET", path)
        return None if answer.lacks_object else self.expected(answer)

    def send(
        self,
        method: str,
        path: str,
        body: JsonObject | None = None,
        *,
        content_type: str = "application/json",
        seconds: float | None = None,
        params: Mapping[str, str] | None = None,
    ) -> Answer:
        """Return the answer, whatever its status; a change is sent once. Raises Unavailable without a whole answer.

        ``path``: without a leading slash. ``seconds``: time limit of the whole exchange, instead of the client's.
        """
        right = needed_right(method, path)
        options: RequestOptions = {"params": params or {}, "public": right is None, "right": str(right)}
        if body is not None:
            options |= {"json": body, "headers": {"content-type": content_type}}
        if seconds is not None:
            options["seconds"] = seconds
        return Answer(self._http.send(method, path, **options))

    def expected(self, answer: Answer) -> Answer:
        """Return a successful answer; raise the error of any other."""
        if 200 <= answer.status < 300:
            return answer
        raise self.failure(answer)

    def failure(self, answer: Answer) -> PeerError:
        """Return the error of an unsuccessful answer; that of a 403 names the missing right."""
        operation, status = answer.response.operation, answer.status
        text = self.quoted(answer)
        said = answer.response.answered(text)
        if answer.busy:
            return Busy(SYSTEM, operation, said, retry_after=answer.retry_after)
        if answer.response.restarting:
            return Unavailable(SYSTEM, operation, f"{said}; {EXPLANATION}")
        if status == 403 and (right := needed_right(*operation.split(" ", 1))):
            said = f"{said}; Shipyard needs the right to {right}"
        if 400 <= status < 500 and status != 408:
            return Refused(SYSTEM, operation, said, code=status, said=text)
        return Unavailable(SYSTEM, operation, said)

    def quoted(self, answer: Answer) -> str:
        """Return the API server's message in one line, without our secrets."""
        return one_line(self.scrubber(answer.text), LONGEST_TEXT)

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def _pages(self, path: str, kind: str, selectors: dict[str, str]) -> Iterator[list[JsonObject]]:
        seen: set[str] = set()
        following = ""
        while True:
            page = {"limit": str(self._page)} | ({"continue": following} if following else {})
            answer = self.send("GET", path, params={**selectors, **page})
            if answer.status == 410 and following:
                raise _Expired
            listed = self.expected(answer).object()
            items = listed.get("items") or []
            if answer.status != 200 or listed.get("kind") != kind or not isinstance(items, list):
                kind_shown = one_line(self.scrubber(str(listed.get("kind"))), 100)
                said = f"answered {answer.status}, but of kind {kind_shown}, not {kind}"
                raise Unavailable(SYSTEM, answer.response.operation, said)
            yield [item for item in items if isinstance(item, dict)]
            metadata = listed.get("metadata")
            following = str(metadata.get("continue") or "") if isinstance(metadata, dict) else ""
            if not following:
                return
            if following in seen:
                raise Unavailable(SYSTEM, answer.response.operation, "its list leads back to a page that was read")
            seen.add(following)


class _Expired(Exception):
    """The list that was being read is no longer kept."""
