"""Addresses of Drydock's API about a node and a task, for links; Drydock requires a token."""

import re
from dataclasses import dataclass

from shipyard_api.http import segment


@dataclass(frozen=True, slots=True)
class DrydockAddresses:
    """Addresses below ``base_url``, without a user and password in it."""

    base_url: str

    def node(self, name: str) -> str:
        """Return the address of a node's newest hardware data and logs of commissioning, testing and deployment.

        Drydock stores them by node: a requested task delegates its work and collects no data.
        """
        return f"{self._base}/nodes/{segment(name)}/builddata?latest=true"

    def job(self, job: str) -> str:
        """Return the address of a task with the errors of all its subtasks."""
        return f"{self._base}/tasks/{segment(job)}?subtaskerrors=true"

    @property
    def _base(self) -> str:
        return re.sub(r"//[^/@]*@", "//", self.base_url).rstrip("/")
