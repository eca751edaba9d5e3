"""Where an operator's own rules are."""

from dataclasses import dataclass
from pathlib import Path

DEFAULT_FILE = Path("/etc/shipyard/policy.yaml")


@dataclass(frozen=True, slots=True)
class PolicyOptions:
    """Who may do what.

    ``file``: a file with the rules that differ from ours (etc/policy.yaml is a sample); empty:
    /etc/shipyard/policy.yaml, if it is there.
    """

    file: str = ""

    @property
    def path(self) -> Path | None:
        """Return the file, if there is one or ought to be one."""
        if self.file:
            return Path(self.file)
        return DEFAULT_FILE if DEFAULT_FILE.is_file() else None
