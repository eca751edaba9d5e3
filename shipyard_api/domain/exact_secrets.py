"""Removing secrets from texts where the secrets are known. Pure."""

from collections.abc import Iterable

HIDDEN = "***"


def without_secrets(text: str, secrets: Iterable[str], mask: str = HIDDEN) -> str:
    """Return the text with the mask in the place of each secret.

    The longest go first: one secret may be the beginning of another, whose rest would stay readable.
    """
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = text.replace(secret, mask)
    return text
