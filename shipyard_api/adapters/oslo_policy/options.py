"""Where an operator's own rules are."""

from dataclasses import dataclass
from pathlib import Path

USUAL_FILE = Path("/etc/shipyard/policy.yaml")


@dataclass(frozen=True, slots=True)
class PolicyOptions:
    """Who may do what.

    ``file``: a file with the rules that differ from ours (etc/policy.yaml is a sample); empty:
    /etc/shipyard/policy.yaml, as soon as it is there.
    """

    file: str = ""

    @property
    def named(self) -> Path | None:
        """Return the file that an operator named, and that has to be there."""
        return Path(self.file) if self.file else None
