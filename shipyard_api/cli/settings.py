"""The global options of the command line, as one value."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Settings:
    """What every command needs to reach a server and to print its answer. ``form``: format, raw or cli."""

    url: str | None = None
    token: str | None = None
    context_marker: str | None = None
    verbosity: int = 1
    form: str = "cli"
    debug: bool = False

    def __repr__(self) -> str:
        return f"Settings(url={self.url!r}, form={self.form!r})"  # never the token
