"""Time limits of a teardown's operations, which may change while it runs (seed 004; contract: promenade, 3.2)."""

from collections.abc import Iterator, Mapping
from typing import Any, Self

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.domain.findings import Finding, error
from shipyard_api.domain.stored import ByFields
from shipyard_api.domain.teardown.drain import OnBlocked

ON_BLOCKED = "on-blocked"
_FIELDS = {
    "drain-timeout": "drain",
    "grace-period": "drain_grace_period",
    "clear-labels-timeout": "clear_labels",
    "remove-etcd-timeout": "remove_etcd",
    "etcd-ready-timeout": "etcd_ready",
    "shutdown-kubelet-timeout": "shutdown_kubelet",
}
PARAMETERS = (*_FIELDS, ON_BLOCKED)
"""The parameters of actions that set limits, and that ``shipyard set`` changes while an action runs (product, 6)."""


class TeardownLimits(ByFields, Struct, frozen=True):
    """Whole seconds for each operation; the defaults are the seed's, that of ``shutdown_kubelet`` is ours.

    ``drain_grace_period`` is given to every pod instead of its own. ``on_blocked``: what a drain does about pods that
    a budget keeps.
    """

    drain: int = 3600
    drain_grace_period: int = 1800
    clear_labels: int = 1800
    remove_etcd: int = 1800
    etcd_ready: int = 600
    shutdown_kubelet: int = 300
    on_blocked: OnBlocked = OnBlocked.WAIT

    def check(self) -> tuple[Finding, ...]:
        """Return an error for each limit that cannot work."""
        return tuple(self._faults())

    def with_parameters(self, written: Mapping[str, Any]) -> tuple[Self, tuple[Finding, ...]]:
        """Return the limits with these parameters, and an error for each that cannot be used.

        Numbers may be text, as the command line sends them. Other keys of ``written`` are ignored.
        """
        values: dict[str, Any] = {}
        faults = []
        for name, field in _FIELDS.items():
            if name in written:
                value = _whole(written[name])
                if value is None:
                    message = f"{name} is {str(written[name])[:60]!r}: write a whole number of seconds above 0."
                    faults.append(error("LimitNotANumber", message))
                else:
                    values[field] = value
        if ON_BLOCKED in written:
            words = {choice.value: choice for choice in OnBlocked}
            if str(written[ON_BLOCKED]) in words:
                values["on_blocked"] = words[str(written[ON_BLOCKED])]
            else:
                message = f"{ON_BLOCKED} is {str(written[ON_BLOCKED])[:60]!r}: write one of {', '.join(words)}."
                faults.append(error("OnBlockedUnknown", message))
        changed = self.with_values(values)
        return changed, (*faults, *changed.check())

    def with_values(self, values: Mapping[str, Any]) -> Self:
        """Return the limits with these fields. A drain too short for a grace period that is not given halves it.

        Half the drain is the proportion of the defaults: pods that use all of their grace still leave in time.
        """
        changed = replace(self, **values)
        is_short = 1 < changed.drain <= changed.drain_grace_period
        if is_short and "drain" in values and "drain_grace_period" not in values:
            return replace(changed, drain_grace_period=changed.drain // 2)
        return changed

    def scaled(self, factor: float) -> Self:
        """Return the limits for a simulated site where a second lasts ``factor`` seconds; at least one each."""
        return replace(self, **{field: max(1, round(getattr(self, field) * factor)) for field in _FIELDS.values()})

    def parameters(self) -> Mapping[str, int | str]:
        """Return the limits by the names of their parameters."""
        times = {name: getattr(self, field) for name, field in _FIELDS.items()}
        return times | {ON_BLOCKED: self.on_blocked.value}

    def _faults(self) -> Iterator[Finding]:
        for name, field in _FIELDS.items():
            value = getattr(self, field)
            if value < 1:
                yield error("LimitNotPositive", f"{name} is {value}: write a whole number of seconds above 0.")
        if self.drain_grace_period >= self.drain:
            numbers = f"{self.drain_grace_period} s is not less than the drain's timeout of {self.drain} s"
            message = f"The grace period of {numbers}: shorten it, or extend the timeout."
            yield error("GracePeriodTooLong", message)


def _whole(value: object) -> int | None:
    """Return a whole number of up to nine digits that may be written as text, None for anything else."""
    text = str(value).strip()
    return int(text) if text.removeprefix("-").isdecimal() and text.isascii() and len(text) <= 9 else None
