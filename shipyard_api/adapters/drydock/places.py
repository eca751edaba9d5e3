"""Where a person finds what Drydock knows: addresses of its API, which answer to whoever has a token of Drydock."""

import re
from dataclasses import dataclass

from shipyard_api.http import segment


@dataclass(frozen=True, slots=True)
class DrydockPlaces:
    """Addresses below ``base_url``; a user and a password in it are left out, they are for nobody else."""

    base_url: str

    def node(self, name: str) -> str:
        """Return where the newest hardware data and the logs of commissioning, testing and deployment are.

        Those are kept by node: a task that we ask for hands all its work on, and has collected nothing itself.
        """
        return f"{self._base}/nodes/{segment(name)}/builddata?latest=true"

    def job(self, job: str) -> str:
        """Return where the task is, with the errors of all the tasks below it."""
        return f"{self._base}/tasks/{segment(job)}?subtaskerrors=true"

    @property
    def _base(self) -> str:
        return re.sub(r"//[^/@]*@", "//", self.base_url).rstrip("/")
