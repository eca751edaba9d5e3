"""The row of the table of errors about the share of the site that an action touches."""

from collections.abc import Mapping

from shipyard_api.api.airship.text_rows import Row, Text, conflict
from shipyard_api.domain.errors import ShipyardError
from shipyard_api.domain.touched_share import TooMuchTouched

ROWS: Mapping[type[ShipyardError], Row] = {
    TooMuchTouched: conflict(
        lambda failed: Text(
            "Too much of the site would be touched",
            f"{failed.name} would touch {failed.share}. Name fewer nodes, or use the parameter force=true.",
        )
    )
}
