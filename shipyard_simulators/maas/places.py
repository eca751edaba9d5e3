"""Tags, resource pools and zones."""

import re
from dataclasses import dataclass

_TAG_NAME = re.compile(r"[A-Za-z0-9_-]{1,256}")
_PLACE_NAME = re.compile(r"\w[ \w-]{0,255}")


@dataclass(slots=True)
class Tag:
    """A tag; if it has a definition, MAAS itself assigns it to machines."""

    name: str
    comment: str = ""
    definition: str = ""
    kernel_opts: str = ""


@dataclass(slots=True)
class Place:
    """A pool or a zone."""

    number: int
    name: str
    description: str = ""


def is_tag_name(name: str) -> bool:
    """Return whether the text is a valid tag name."""
    return _TAG_NAME.fullmatch(name) is not None


def is_place_name(name: str) -> bool:
    """Return whether the text is a valid name of a pool or a zone."""
    return _PLACE_NAME.fullmatch(name) is not None
