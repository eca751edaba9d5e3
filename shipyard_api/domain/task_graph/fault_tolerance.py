"""How many nodes of a group may fail (contract: fuel-task-graph, 4.4)."""


class ToleranceError(ValueError):
    """The value is no fault tolerance; the text says why."""


def nodes_that_may_fail(tolerance: int | str | None, nodes: int) -> int | None:
    """Return how many of a group's ``nodes`` may fail; None if there is no limit.

    ``tolerance``: a number; a percentage, rounded down; either negative for the nodes that must succeed, a percentage
    of these rounded up. Surrounding blanks are ignored. Raises ToleranceError.
    """
    if tolerance is None:
        return None
    text = str(tolerance)
    number = text.strip().removesuffix("%").strip()
    digits = number.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 9) or isinstance(tolerance, bool):
        raise ToleranceError(f"'{text[:40]}' is neither a number nor a percentage; write 3, 20% or -2")
    allowed = int(number)
    if text.strip().endswith("%"):
        if abs(allowed) > 100:
            raise ToleranceError(f"'{text[:40]}' is not between -100% and 100%")
        allowed = nodes * allowed // 100
    return min(allowed, nodes) if allowed >= 0 else max(0, nodes + allowed)
