"""Rendered actions, kept as bytes until they change.

Most answers repeat earlier ones: ended actions never change. One query returns the versions of the wanted actions, and
only actions with a new version are read and rendered again.
"""

import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterable, Sequence

from shipyard_api.api.entities.entity import encoded
from shipyard_api.domain.actions import ActionId

# In bytes, in each process. The list of 10,000 actions takes some 25 MB at one verbosity.
MOST = 64 * 1024 * 1024
# How many actions are read and rendered at once, and how many are handed to the server as one piece.
BATCH = 250
# The rough overhead of an entry: key, version and place in the order.
_OVERHEAD = 400

Version = tuple[ActionId, str]
Key = tuple[ActionId, str, int]


class RenderedActions:
    """A memory of bounded size; what was not asked for longest goes first. May be shared by threads."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._held = 0
        self._lock = threading.Lock()
        # One thread renders a list at a time: the next one finds most of it done.
        self._rendering = threading.Lock()
        self._known: OrderedDict[Key, tuple[str, bytes]] = OrderedDict()

    def one(
        self, action: ActionId, view: tuple[str, int], read: Callable[[str], tuple[str, object | None]]
    ) -> tuple[str, bytes]:
        """Return an action in a view, which is a name and a verbosity, with its version.

        ``read`` is given the version that is known, or an empty text. It returns the version that it finds, and the
        entity as of the same moment; None if it finds the known version.
        """
        key = (action, *view)
        with self._lock:
            known = self._known.get(key)
            if known is not None:
                self._known.move_to_end(key)
        version, entity = read(known[0] if known else "")
        if known is not None and entity is None:
            return known
        body = encoded(entity)
        self._keep([((action, version), body)], view)
        return version, body

    def many(
        self,
        versions: Sequence[Version],
        view: tuple[str, int],
        render: Callable[[Sequence[ActionId]], Iterable[tuple[ActionId, object]]],
    ) -> list[bytes]:
        """Return actions in a view, in the order of their versions; ``render`` is given those that are not known.

        One that was not rendered, because it is gone meanwhile, is left out.
        """
        rendered = self._find(versions, view)
        missing = [(place, version) for place, version in enumerate(versions) if rendered[place] is None]
        for start in range(0, len(missing), BATCH):
            part = missing[start : start + BATCH]
            with self._rendering:
                for (place, _), body in zip(
                    part, self._rendered([version for _, version in part], view, render), strict=True
                ):
                    rendered[place] = body
        return [body for body in rendered if body is not None]

    def _rendered(
        self,
        versions: Sequence[Version],
        view: tuple[str, int],
        render: Callable[[Sequence[ActionId]], Iterable[tuple[ActionId, object]]],
    ) -> list[bytes | None]:
        """Return these actions, rendered where no other thread has done so; None for those that are gone."""
        rendered = self._find(versions, view)
        missing = [version for version, body in zip(versions, rendered, strict=True) if body is None]
        if missing:
            new = {action: encoded(entity) for action, entity in render([action for action, _ in missing])}
            self._keep([(version, new[version[0]]) for version in missing if version[0] in new], view)
            rendered = [
                new.get(version[0]) if body is None else body for version, body in zip(versions, rendered, strict=True)
            ]
        return rendered

    def _find(self, versions: Sequence[Version], view: tuple[str, int]) -> list[bytes | None]:
        rendered: list[bytes | None] = []
        known = self._known
        with self._lock:
            for action, version in versions:
                key = (action, *view)
                entry = known.get(key)
                if entry is not None and entry[0] == version:
                    known.move_to_end(key)
                    rendered.append(entry[1])
                else:
                    rendered.append(None)
        return rendered

    def _keep(self, rendered: Iterable[tuple[Version, bytes]], view: tuple[str, int]) -> None:
        with self._lock:
            for (action, version), body in rendered:
                key = (action, *view)
                old = self._known.pop(key, None)
                if old is not None:
                    self._held -= len(old[1]) + _OVERHEAD
                self._known[key] = (version, body)
                self._held += len(body) + _OVERHEAD
            while self._held > self._most:
                _, (_, body) = self._known.popitem(last=False)
                self._held -= len(body) + _OVERHEAD


def listed(bodies: Sequence[bytes]) -> tuple[AsyncIterator[bytes], int]:
    """Return rendered entities as a JSON array, in pieces, and its length: no request makes a copy of all of it."""
    length = 2 + sum(map(len, bodies)) + 2 * max(0, len(bodies) - 1)
    return _pieces(bodies), length


async def _pieces(bodies: Sequence[bytes]) -> AsyncIterator[bytes]:
    opening = b"["
    for start in range(0, len(bodies), BATCH):
        yield opening + b", ".join(bodies[start : start + BATCH])
        opening = b", "
    yield b"]" if bodies else b"[]"
