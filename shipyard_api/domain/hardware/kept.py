"""What was read of the hardware of single servers, kept until they are inspected again."""

from typing import Generic, TypeVar

T = TypeVar("T")


class KeptReadings(Generic[T]):
    """Readings by the id of a server, each with its version, such as the time of an inspection.

    Safe for threads: two of them may only read the same thing twice.
    """

    def __init__(self, most: int = 20_000) -> None:
        self._most = most
        self._kept: dict[str, tuple[str, T]] = {}

    def __contains__(self, name: object) -> bool:
        return name in self._kept

    def of(self, name: str, version: str) -> T | None:
        """Return what was read of this version, None if nothing was."""
        kept = self._kept.get(name)
        return kept[1] if kept and kept[0] == version else None

    def keep(self, name: str, version: str, value: T) -> None:
        """Keep a reading instead of that of another version; nothing more is kept when there are too many."""
        if name in self._kept or len(self._kept) < self._most:
            self._kept[name] = version, value
