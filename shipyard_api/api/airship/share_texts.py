"""The rows of the table of errors about what an action would take from the site: a share of it, etcd members."""

from collections.abc import Mapping

from shipyard_api.api.airship.text_rows import NAMED, Row, Text, conflict, joined
from shipyard_api.domain.errors import ShipyardError
from shipyard_api.domain.teardown.errors import EtcdForbids
from shipyard_api.domain.touched_share import TooMuchTouched

ROWS: Mapping[type[ShipyardError], Row] = {
    TooMuchTouched: conflict(
        lambda failed: Text(
            "Too much of the site would be touched",
            f"{failed.name} would touch {failed.share}. Name fewer nodes, or use the parameter force=true.",
        )
    ),
    EtcdForbids: conflict(joined("Etcd forbids the teardown", " ", NAMED)),
}
