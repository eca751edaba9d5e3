"""JSON objects as they come from and go to rows and peers."""

from collections.abc import Mapping
from typing import Any

JsonObject = Mapping[str, Any]
"""A JSON object whose shape is known elsewhere: a schema, a codec, or the peer."""
