"""The designs: each reference is fetched once, and its content is cached under the exact string."""

import threading
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote, urlsplit

import requests
import yaml

from shipyard_simulators.addresses import Addresses, addresses
from shipyard_simulators.drydock.design import Design, read_design

# Drydock sends its own token to these; to all others it sends none.
_WITH_TOKEN = ("deckhand+http", "promenade+http")
_CONNECT_AND_READ_SECONDS = (5, 60)
_Loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class UnreadableDesign(Exception):
    """A reference that cannot be fetched, or content that is not a YAML stream."""


class Designs:
    """The designs that this Drydock has read. Thread-safe. ``noted``: called with the addresses in each new one."""

    def __init__(self, token: str | None, noted: Callable[[Addresses], None] = lambda _: None) -> None:
        self._token, self._noted = token, noted
        self._kept: dict[str, Design] = {}
        self._lock = threading.Lock()

    def read(self, design_ref: str) -> Design:
        """Return the design of the reference, as first fetched. Raises UnreadableDesign."""
        with self._lock:
            kept = self._kept.get(design_ref)
        if kept is not None:
            return kept
        try:
            documents = list(yaml.load_all(self._fetch(design_ref), Loader=_Loader))
        except (requests.RequestException, OSError, ValueError, RecursionError, yaml.YAMLError) as cause:
            raise UnreadableDesign(f"{design_ref}: {cause}") from cause
        design = read_design(documents)
        self._noted(addresses(documents))
        with self._lock:
            return self._kept.setdefault(design_ref, design)

    def _fetch(self, design_ref: str) -> bytes:
        scheme = urlsplit(design_ref).scheme
        if scheme == "file":
            return Path(unquote(urlsplit(design_ref).path)).read_bytes()
        if scheme not in (*_WITH_TOKEN, "http", "https"):
            # deckhand+https is among them: upstream has no handler for it.
            raise UnreadableDesign(f"no handler for the scheme of {design_ref}")
        headers = {}
        if scheme in _WITH_TOKEN:
            design_ref = design_ref.partition("+")[2]
            headers = {"X-Auth-Token": self._token} if self._token else {}
        with requests.Session() as session:
            # Ignore the proxies and the netrc file of the user.
            session.trust_env = False
            answer = session.get(design_ref, headers=headers, timeout=_CONNECT_AND_READ_SECONDS)
        answer.raise_for_status()
        return answer.content
