"""Chance that a seed decides: random bytes, identifiers, and threads that take turns."""

from __future__ import annotations

import os
import random
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from datetime import datetime
from typing import Any
from unittest.mock import patch

import ulid

from shipyard_api.adapters.etcd import gateway
from shipyard_api.adapters.ironic import provisioner as ironic
from shipyard_api.adapters.maas import provisioner as maas
from shipyard_api.adapters.maas import reconcile
from shipyard_api.usecases.configdocs import commit


class InTurn:
    """An executor that does each piece of work at once, in the thread of its caller."""

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def __enter__(self) -> InTurn:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def submit(self, work: Callable[..., Any], *arguments: Any, **named: Any) -> Future[Any]:
        done: Future[Any] = Future()
        try:
            done.set_result(work(*arguments, **named))
        except Exception as error:  # noqa: BLE001  # as executors do
            done.set_exception(error)
        return done

    def map(self, work: Callable[..., Any], *arguments: Iterable[Any]) -> Iterator[Any]:
        return iter([work(*each) for each in zip(*arguments, strict=False)])

    def shutdown(self, *_: object, **__: object) -> None:
        pass


@contextmanager
def decided(seed: int, now: Callable[[], datetime]) -> Iterator[None]:
    """Let a seed decide everything that is left to chance in this process."""
    dice: dict[str, random.Random] = {}
    lock = threading.Lock()

    def drawn(count: int) -> bytes:
        with lock:
            name = re.sub(r"\d", "", threading.current_thread().name)
            own = dice.setdefault(name, random.Random(f"{seed} {name}"))
            return own.randbytes(count)

    generator = ulid.ULIDGenerator(clock=lambda: int(now().timestamp() * 1000), randomness=lambda _: drawn(10))
    random.seed(seed)
    with ExitStack() as stack:
        stack.enter_context(patch.object(os, "urandom", drawn))
        stack.enter_context(patch.object(ulid, "default_generator", generator))
        for module in (commit, gateway, ironic, maas, reconcile):
            stack.enter_context(patch.object(module, "ThreadPoolExecutor", InTurn))
        yield
