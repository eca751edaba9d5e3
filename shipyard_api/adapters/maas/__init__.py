"""The provisioner port, filled by a MAAS."""

from dataclasses import dataclass
from enum import Enum

from shipyard_api.settings.types import Address, Secret


class Erase(Enum):
    """How MAAS erases disks: the first and last 2 MiB; by the drive itself, else quick; every byte, taking hours."""

    QUICK = "quick"
    SECURE = "secure"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class MaasOptions:
    """MAAS: address, limits, and the treatment of machines. Only used if MAAS provisions the site without Drydock.

    ``url``: the API of the MAAS region, ending in ``/MAAS/api/2.0``.
    ``api_key``: the API key of a MAAS user, in three parts as MAAS shows it.
    ``connect_timeout_seconds``: timeout of a connection; at most half of ``engine.settle_seconds``.
    ``read_timeout_seconds``: timeout of an answer; longer than the 90 s for which MAAS retries a transaction.
    ``distro_series``: the operating system to deploy, such as jammy; empty: MAAS's default.
    ``hwe_kernel``: the kernel to deploy; empty: MAAS's default.
    ``user_data_file``: a file with the cloud-init user data of deployed machines.
    ``erase``: how disks are erased when a server is destroyed: full (hours), secure (by the drive), quick (both ends).
    ``release_failed``: whether preparing accepts machines whose last deployment or release failed.
    ``override_failed_testing``: whether preparing accepts machines that failed MAAS's hardware tests.
    ``keep_enlisted``: whether a machine that ``remove_server`` takes down stays enlisted in MAAS; others always do.
    """

    url: Address = Address("")  # noqa: RUF009  # immutable
    api_key: Secret = Secret("")  # noqa: RUF009  # immutable
    connect_timeout_seconds: float = 1.8
    read_timeout_seconds: float = 150.0
    distro_series: str = ""
    hwe_kernel: str = ""
    user_data_file: str = ""
    erase: Erase = Erase.FULL
    release_failed: bool = True
    override_failed_testing: bool = False
    keep_enlisted: bool = False

    def required(self) -> dict[str, str]:
        """Return the settings that must not be empty, by name."""
        return {"[maas] url": self.url, "[maas] api_key": self.api_key}
