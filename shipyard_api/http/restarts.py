"""A peer that restarts refuses for a while what it granted a moment ago; that is silence, and no refusal.

An API server that loads its rights again answers 403, a token middleware without its Keystone 401, a gateway without
its service 404. Each object belongs to a peer and a set of credentials.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import TypeVar

V = TypeVar("V")

LASTS = 120.0
"""Seconds after which a refusal counts although the peer granted the same before."""

EXPLANATION = f"it granted this a moment ago, so it may be restarting: a refusal only after {LASTS:g} s"

_MOST = 1000
"""As many granted requests, and as many refused ones, are remembered."""

_CALLER = ""


class PeerRestarts:
    """What a peer has granted, and since when it refuses. May be shared by threads. ``monotonic``: seconds."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._granted: OrderedDict[str, None] = OrderedDict()
        self._refused: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def may_restart(self, status: int, operation: str, right: str) -> bool:
        """Return whether an answer to a request is the silence of a restarting peer; called with every answer.

        ``operation``: the request with its whole path. ``right``: what a caller who may send it may send as well. The
        same caller was known (401), had the right (403), or found something under that very path (404). From the first
        refusal of an operation on, this holds for ``LASTS`` seconds.
        """
        if status < 300:
            with self._lock:
                for granted in (_CALLER, right, operation):
                    _remember(self._granted, granted, None)
                self._refused.pop(operation, None)
            return False
        evidence = {401: _CALLER, 403: right, 404: operation}.get(status)
        with self._lock:
            if evidence is None or evidence not in self._granted:
                return False
            now = self._monotonic()
            since, last = self._refused.get(operation, (now, now))
            # Between two restarts, the operation may not have been asked for.
            since = now if now - last > LASTS else since
            _remember(self._refused, operation, (since, now))
            return now - since < LASTS


def _remember(known: OrderedDict[str, V], key: str, value: V) -> None:
    known[key] = value
    known.move_to_end(key)
    if len(known) > _MOST:
        known.popitem(last=False)
