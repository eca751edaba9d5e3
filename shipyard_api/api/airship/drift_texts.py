"""The error of a site that cannot be compared with anything yet."""

from shipyard_api.api.airship.text_rows import Row, not_found
from shipyard_api.domain.drift.errors import NoSiteAction
from shipyard_api.domain.errors import ShipyardError

ROWS: dict[type[ShipyardError], Row] = {
    NoSiteAction: not_found(
        "No site action",
        lambda failed: f"There is no {failed.since} to compare the site with: deploy the site first.",
    ),
}
