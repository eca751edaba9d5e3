"""The encryption port, filled by Fernet in this process, with keys from the settings."""

from dataclasses import dataclass
from pathlib import Path

from shipyard_api.settings.types import Secret


@dataclass(frozen=True, slots=True)
class EncryptionOptions:
    """The keys that encrypt documents with storagePolicy encrypted; `shipyard db new-key` makes a key.

    ``keys``: keys, separated by commas. The first encrypts, all of them decrypt.
    ``keys_file``: a file with the same, one key a line; read if ``keys`` is empty.
    """

    keys: Secret = Secret("")  # noqa: RUF009  # immutable
    keys_file: str = ""

    def newest_first(self) -> tuple[str, ...]:
        """Return the keys, the newest first. Raises ValueError if the file cannot be read."""
        text = str(self.keys)
        if not text and self.keys_file:
            try:
                text = Path(self.keys_file).read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                raise ValueError(f"[secrets] keys_file: {error}") from error
        return tuple(key for part in text.splitlines() for key in map(str.strip, part.split(",")) if key)
