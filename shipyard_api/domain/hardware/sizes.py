"""Sizes of disks and memory: as documents write them, and in words."""

import re

_UNITS = {"": 1, "B": 1}
_UNITS |= {f"{letter}B": 1000**power for power, letter in enumerate("kMGTP", 1)}
_UNITS |= {f"{letter}iB": 1024**power for power, letter in enumerate("KMGTP", 1)}
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([kKMGTP]?i?B)?")


def size_of(written: int | str) -> int:
    """Return a size in bytes; a text has a number and a unit, such as "480 GB" or "384 GiB"."""
    found = _SIZE.fullmatch(str(written))
    if found is None or (found[2] or "") not in _UNITS:
        raise ValueError(f"{written!r} is no size")
    return round(float(found[1]) * _UNITS[found[2] or ""])


def decimal(size: int) -> str:
    """Return the size of a disk, as vendors write it."""
    return _shown(size, 1000, ("B", "kB", "MB", "GB", "TB", "PB"))


def binary(size: int) -> str:
    """Return a size of memory."""
    return _shown(size, 1024, ("B", "KiB", "MiB", "GiB", "TiB", "PiB"))


def _shown(size: int, step: int, units: tuple[str, ...]) -> str:
    value, power = float(size), 0
    while value >= step and power < len(units) - 1:
        value, power = value / step, power + 1
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return f"{text} {units[power]}"
