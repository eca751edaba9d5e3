"""The arguments of deploy steps as callers see them."""

from typing import Any

from shipyard_api.domain.json_types import JsonObject

_HIDDEN = "******"


def without_secrets(args: JsonObject) -> Any:
    """Return arguments with likely secrets masked, as Ironic does."""
    # The import takes a seventh of the API's start, and few requests need it.
    from oslo_utils.strutils import mask_dict_password

    return mask_dict_password(args, _HIDDEN)
