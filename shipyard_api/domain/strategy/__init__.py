"""The deployment strategy: its document, its groups, their selectors and success criteria (seed 000)."""
