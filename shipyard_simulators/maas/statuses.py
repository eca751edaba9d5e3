"""The statuses of a machine: numbers, labels, filter names, and the operations that each allows."""

from enum import IntEnum


class Status(IntEnum):
    """A status by its number; its name in lower case is the word for filters."""

    NEW = 0
    COMMISSIONING = 1
    FAILED_COMMISSIONING = 2
    MISSING = 3
    READY = 4
    RESERVED = 5
    DEPLOYED = 6
    RETIRED = 7
    BROKEN = 8
    DEPLOYING = 9
    ALLOCATED = 10
    FAILED_DEPLOYMENT = 11
    RELEASING = 12
    FAILED_RELEASING = 13
    DISK_ERASING = 14
    FAILED_DISK_ERASING = 15
    RESCUE_MODE = 16
    ENTERING_RESCUE_MODE = 17
    FAILED_ENTERING_RESCUE_MODE = 18
    EXITING_RESCUE_MODE = 19
    FAILED_EXITING_RESCUE_MODE = 20
    TESTING = 21
    FAILED_TESTING = 22

    @property
    def label(self) -> str:
        """The text of ``status_name``."""
        return _LABELS.get(self, self.short.replace("_", " ").capitalize())

    @property
    def short(self) -> str:
        """The word for filters."""
        return self.name.lower()

    @property
    def simple(self) -> str:
        """The word for the filter of simplified statuses."""
        return _SIMPLE.get(self, "failed" if self.short.startswith("failed") else "other")


_LABELS = {
    # Not what its name suggests; clients have misread it.
    Status.FAILED_RELEASING: "Releasing failed",
    Status.FAILED_ENTERING_RESCUE_MODE: "Failed to enter rescue mode",
    Status.FAILED_EXITING_RESCUE_MODE: "Failed to exit rescue mode",
}

_SIMPLE = {
    Status.NEW: "new",
    Status.COMMISSIONING: "commissioning",
    Status.READY: "ready",
    Status.RESERVED: "allocated",
    Status.DEPLOYED: "deployed",
    Status.BROKEN: "broken",
    Status.DEPLOYING: "deploying",
    Status.ALLOCATED: "allocated",
    Status.RELEASING: "releasing",
    Status.DISK_ERASING: "releasing",
    Status.TESTING: "testing",
}

BY_LABEL = {status.label: status for status in Status}
BY_SHORT_NAME = {status.short: status for status in Status}
SIMPLE_NAMES = {status.simple for status in Status}

COMMISSIONABLE = {Status.NEW, Status.FAILED_COMMISSIONING, Status.READY, Status.BROKEN}
TESTABLE = {
    Status.READY,
    Status.RESERVED,
    Status.ALLOCATED,
    Status.DEPLOYED,
    Status.BROKEN,
    Status.FAILED_COMMISSIONING,
    Status.FAILED_TESTING,
    Status.FAILED_DEPLOYMENT,
    Status.FAILED_RELEASING,
    Status.FAILED_DISK_ERASING,
}
KEPT_BY_TESTS = {Status.RESERVED, Status.ALLOCATED, Status.DEPLOYED, Status.BROKEN}
"""Statuses to which a machine returns after its tests; from any other it becomes Ready."""

RELEASABLE = {
    Status.ALLOCATED,
    Status.RESERVED,
    Status.BROKEN,
    Status.DEPLOYING,
    Status.DEPLOYED,
    Status.FAILED_DEPLOYMENT,
    Status.FAILED_DISK_ERASING,
    Status.FAILED_RELEASING,
}
RELEASED_ALREADY = {Status.READY, Status.RELEASING}

RESCUABLE = RELEASABLE - {Status.DEPLOYING, Status.RESERVED} | {Status.READY, Status.FAILED_TESTING}

OWNED = RELEASABLE - {Status.BROKEN} | {Status.DISK_ERASING, Status.RELEASING}
"""Statuses in which a seeded machine has an owner."""

POWERED = {
    Status.COMMISSIONING,
    Status.TESTING,
    Status.DEPLOYING,
    Status.DEPLOYED,
    Status.FAILED_DEPLOYMENT,
    Status.DISK_ERASING,
    Status.RELEASING,
    Status.RESCUE_MODE,
}
"""Statuses in which a seeded machine is switched on."""
