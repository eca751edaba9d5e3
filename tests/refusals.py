"""What a test expects to be refused."""

from typing import Any

import pytest

from shipyard_api.domain.error_kinds import ErrorKind, ShipyardError


def refuses(*kinds: ErrorKind[..., ShipyardError], match: str | None = None) -> Any:
    """Expect an error of one of these kinds, as ``pytest.raises`` does."""
    return pytest.raises(ShipyardError, match=match, check=lambda error: error.kind in kinds)
