"""Holds that begin and end with maintenance windows (product, sections 6 and 13). Placing one needs no action."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from shipyard_api.domain.holds import HoldClass
from shipyard_api.domain.nodes import Inventory, NodeName
from shipyard_api.domain.rollout.policy.windows import Window, Windows, parse_window
from shipyard_api.domain.strategy.selectors import Selector, select
from shipyard_api.domain.strategy.strategy import parse_selector


@dataclass(frozen=True, slots=True)
class WindowHold:
    """The holds of a class on the nodes that selectors match, all nodes without any, during each of the windows."""

    name: str
    hold_class: HoldClass
    windows: tuple[Window, ...]
    selectors: tuple[Selector, ...] = ()

    @property
    def reason(self) -> str:
        """The reason of each of the holds."""
        return f"maintenance window {self.name}"

    def nodes(self, machines: Inventory) -> frozenset[NodeName]:
        """Return the nodes that are held."""
        return select(self.selectors, machines) if self.selectors else frozenset(machines.nodes)

    def ends(self, now: datetime, ahead: timedelta) -> Iterator[datetime]:
        """Return the ends of the windows that are open, or that begin within the time ``ahead``."""
        for window in self.windows:
            for begin, end in window.after(now):
                if begin > now + ahead:
                    break
                yield end

    def never_comes(self, now: datetime) -> bool:
        """Return whether no window begins within a year."""
        return Windows(self.windows).opening(now, 0.0) is None


def window_holds(policy: Mapping[str, Any]) -> tuple[WindowHold, ...]:
    """Return the holds of a policy as it is written; it passed the schema and its checks."""
    return tuple(
        WindowHold(
            entry["name"],
            HoldClass(entry["class"]),
            tuple(map(parse_window, entry["windows"])),
            tuple(map(parse_selector, entry.get("selectors", ()))),
        )
        for entry in policy.get("holds", ())
    )
