"""Rules that an operator may change, as OpenStack and Airship write them."""

from dataclasses import dataclass
from pathlib import Path

USUAL_FILE = Path("/etc/shipyard/policy.yaml")


@dataclass(frozen=True, slots=True)
class PolicyOptions:
    """Authorization.

    ``file``: a file with the rules that override the defaults (etc/policy.yaml is a sample); empty:
    /etc/shipyard/policy.yaml, if it exists.
    """

    file: str = ""

    @property
    def named(self) -> Path | None:
        """Return the file set by the operator, which must exist."""
        return Path(self.file) if self.file else None
