"""The keys of simulated hosts: what a client logs in with, and by what it knows the hosts."""

import os
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

KEY = "key"
HOST_KEY = "host_key"
KNOWN_HOSTS = "known_hosts"


def ensure(directory: Path) -> None:
    """Create the keys in a directory that has none: the client's, and one of all hosts with its known hosts."""
    directory.mkdir(parents=True, exist_ok=True)
    public = {name: _ensure(directory / name) for name in (KEY, HOST_KEY)}
    (directory / KNOWN_HOSTS).write_text(f"* {public[HOST_KEY]}\n", encoding="ascii")


def _ensure(path: Path) -> str:
    """Return the public part of a key."""
    public = path.with_name(f"{path.name}.pub")
    if not (path.is_file() and public.is_file()):
        made = Ed25519PrivateKey.generate()
        part = path.with_name(f"{path.name}.{os.getpid()}")
        part.touch(mode=0o600)
        part.write_bytes(made.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()))
        public.write_bytes(made.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH) + b"\n")
        part.replace(path)
    return public.read_text(encoding="ascii").strip()
