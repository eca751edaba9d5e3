"""The images that can be deployed."""

import re
from dataclasses import dataclass

DEFAULT_SERIES = "jammy"


@dataclass(frozen=True, slots=True)
class Image:
    """An image: its system and series, and the kernel that comes with it."""

    number: int
    system: str
    series: str
    kernel: str = ""

    @property
    def name(self) -> str:
        """The name in lists: ``SYSTEM/SERIES``, with exactly one slash, as Drydock requires of all images."""
        return f"{self.system}/{self.series}"


IMAGES = (
    Image(1, "ubuntu", "focal", "ga-20.04"),
    Image(2, "ubuntu", "jammy", "ga-22.04"),
    Image(3, "ubuntu", "noble", "ga-24.04"),
    Image(4, "custom", "site-image"),
)
_KERNEL = re.compile(r"(ga|hwe)-[0-9]{2}\.[0-9]{2}(-[a-z]+)*")


def find_image(text: str) -> Image | None:
    """Return the image by its series, or by system and series; None if there is none."""
    return next((image for image in IMAGES if text in (image.series, image.name)), None)


def is_kernel(text: str) -> bool:
    """Return whether the text is a valid kernel name."""
    return _KERNEL.fullmatch(text) is not None
