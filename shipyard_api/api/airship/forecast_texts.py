"""The rows of the table of errors about plans and forecasts."""

from collections.abc import Mapping

import falcon

from shipyard_api.api.airship.errors import ServiceBusy, TooMuchWork
from shipyard_api.api.airship.text_rows import NAMED, Row, Text, conflict, not_found
from shipyard_api.domain.errors import ShipyardError
from shipyard_api.domain.rollout import errors


def _unknown_groups(failed: errors.UnknownForecastGroups) -> str:
    more = ", …" if len(failed.groups) > NAMED else ""
    names = ", ".join(f"'{name[:128]}'" for name in failed.groups[:NAMED])
    return f"criteria: the deployment strategy has no group {names}{more}. Correct the names."


ROWS: Mapping[type[ShipyardError], Row] = {
    errors.NothingToForecast: conflict(
        lambda failed: Text(
            "Nothing to forecast", f"The action {failed.name} deploys no nodes, so there is nothing to forecast."
        )
    ),
    errors.UnknownForecastGroups: not_found("Deployment group not found", _unknown_groups),
    errors.ForecastTooLarge: conflict(
        lambda failed: Text(
            "Site too large to forecast",
            f"The groups have {failed.members} nodes in total, counting each in all of its groups; a forecast takes at "
            f"most {failed.most}.",
        )
    ),
    TooMuchWork: Row(
        falcon.HTTP_429,
        lambda failed: Text(
            "Too many plans and forecasts",
            "This caller waits for several answers, or has used its share of processor time; ask again in "
            f"{failed.seconds} s",
        ),
        retry=True,
    ),
    ServiceBusy: Row(
        falcon.HTTP_503,
        lambda failed: Text(
            "Too many plans and forecasts",
            f"All callers together have used the processor time for them; ask again in {failed.seconds} s",
        ),
        retry=True,
    ),
}
