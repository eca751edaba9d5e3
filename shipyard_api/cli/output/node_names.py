"""Lists of names in a cell: few as they are, many folded or cut. Pure."""

from collections.abc import Sequence

from shipyard_api.cli.output.wording import printable
from shipyard_api.domain.node_sets import fold

FEW = 8
"""How many names a cell shows as they are; the forms raw and format have them all."""


def listed(names: Sequence[object]) -> str:
    """Return the names with commas. More than 8 are a node set if that is not longer than the first 8 names."""
    names_shown = [printable(name) for name in names]
    if len(names_shown) <= FEW:
        return ", ".join(names_shown)
    cut = f"{', '.join(names_shown[:FEW])} and {len(names_shown) - FEW} more"
    return min(fold(names_shown), cut, key=len)
