"""A guard against actions that touch more of the site than was meant (product, section 5: plan)."""

from dataclasses import dataclass

from shipyard_api.domain.findings import Finding, warning


@dataclass(frozen=True, slots=True)
class BlastRadius:
    """How many of the site's nodes an action touches, and the share of them that it may touch."""

    touched: int
    nodes: int
    most: float

    @property
    def too_large(self) -> bool:
        """Whether the action touches more than it may."""
        return self.touched > self.most * self.nodes

    def finding(self, action: str) -> Finding:
        """Return the warning about an action that touches too much."""
        return warning("ShareOfSiteTouched", f"{action} touches {self}.")

    def __str__(self) -> str:
        share = 100 * self.touched / self.nodes
        return (
            f"{self.touched} of the site's {self.nodes} nodes ({share:.0f} %), more than the {100 * self.most:g} % "
            "that [actions] max_share_touched allows"
        )
