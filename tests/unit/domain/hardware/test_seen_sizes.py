"""Sizes, as documents write them."""

import pytest

from shipyard_api.domain.hardware.seen import binary, decimal, size_of
from tests.unit.tables import every_row


@every_row(
    [
        (7, 7),
        ("7", 7),
        ("480 GB", 480 * 1000**3),
        ("1.6TB", 1_600_000_000_000),
        ("384 GiB", 384 * 1024**3),
        ("3 kB", 3000),
    ]
)
def test_a_size_in_bytes(written: int | str, size: int) -> None:
    assert size_of(written) == size


@every_row(["", "GB", "-1 GB", "1 GiBi", "1 kiB"])
def test_no_size(written: str) -> None:
    with pytest.raises(ValueError, match="is no size"):
        size_of(written)


def test_in_words() -> None:
    assert (decimal(1_600_321_314_816), decimal(999), binary(384 * 1024**3)) == ("1.6 TB", "999 B", "384 GiB")
