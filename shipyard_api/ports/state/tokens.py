"""API tokens."""

from datetime import datetime

from msgspec import Struct


class TokenRecord(Struct, frozen=True):
    """An API token, without its secret, which is not stored."""

    id: str
    name: str
    roles: tuple[str, ...]
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None
