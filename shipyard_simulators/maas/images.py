"""The images that can be installed."""

import re
from dataclasses import dataclass

DEFAULT_SERIES = "jammy"


@dataclass(frozen=True, slots=True)
class Image:
    """An image: its system and series as ``SYSTEM/SERIES`` where it is one of MAAS's own."""

    number: int
    system: str
    series: str
    kernel: str = ""

    @property
    def name(self) -> str:
        """What lists show."""
        return f"{self.system}/{self.series}"


IMAGES = (
    Image(1, "ubuntu", "focal", "ga-20.04"),
    Image(2, "ubuntu", "jammy", "ga-22.04"),
    Image(3, "ubuntu", "noble", "ga-24.04"),
    Image(4, "custom", "site-image"),
)
_KERNEL = re.compile(r"(ga|hwe)-[0-9]{2}\.[0-9]{2}(-[a-z]+)*")


def find_image(text: str) -> Image | None:
    """Return the image that a client means, by its series, by system and series, or None."""
    return next((image for image in IMAGES if text in (image.series, image.name)), None)


def is_kernel(text: str) -> bool:
    """Return whether a kernel may be called so."""
    return _KERNEL.fullmatch(text) is not None
