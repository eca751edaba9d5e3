"""The arguments of deploy steps as callers see them."""

from typing import Any

from shipyard_api.domain.json_types import JsonObject

_HIDDEN = "******"


def without_secrets(args: JsonObject) -> Any:
    """Return arguments in which what looks like a secret is hidden, as Ironic shows them."""
    # A seventh of the time that the API takes to start, and few callers ask.
    from oslo_utils.strutils import mask_dict_password

    return mask_dict_password(args, _HIDDEN)
