"""Attest wheels and verify that, as far as it goes without a network identity: `python attestations.py WHEEL…`.

pypi-attestations makes each statement, and judges it again. A key of this moment signs in place of Sigstore's
certificate, and no transparency log has an entry: Sigstore's own judgement, by the roots that it ships, refuses that.
"""

import base64
import json
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import patch

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509 import CertificateBuilder, Name, random_serial_number
from pypi_attestations import Attestation, Distribution, VerificationError
from sigstore.dsse import Envelope, Statement
from sigstore.errors import VerificationError as Unverified
from sigstore.models import Bundle
from sigstore.verify import Verifier
from sigstore.verify.policy import Identity

PUBLISHER = Identity(identity="release@example.org")
# No log: what the format wants of one.
_NO_ENTRY = {
    "logIndex": "0",
    "logId": {"keyId": "AA=="},
    "kindVersion": {"kind": "dsse", "version": "0.0.1"},
    "integratedTime": "0",
    "inclusionPromise": {"signedEntryTimestamp": "AA=="},
    "inclusionProof": {
        "logIndex": "0",
        "rootHash": "AA==",
        "treeSize": "1",
        "hashes": [],
        "checkpoint": {"envelope": "none"},
    },
    "canonicalizedBody": "AA==",
}


class LocalKey:
    """Signs in place of ``sigstore.sign.Signer``, and verifies in place of ``Verifier``."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        name, now = Name([]), datetime.now(UTC)
        builder = CertificateBuilder().subject_name(name).issuer_name(name).public_key(self._key.public_key())
        builder = builder.serial_number(random_serial_number()).not_valid_before(now)
        self._certificate = builder.not_valid_after(now + timedelta(minutes=10)).sign(self._key, SHA256())

    def sign_dsse(self, statement: Statement) -> Bundle:
        """Return the bundle of a statement."""
        signature = self._key.sign(statement._pae(), ec.ECDSA(SHA256()))  # what Signer signs
        bundle = {
            "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
            "verificationMaterial": {
                "certificate": {"rawBytes": _base64(self._certificate.public_bytes(Encoding.DER))},
                "tlogEntries": [_NO_ENTRY],
            },
            "dsseEnvelope": {
                "payload": _base64(statement._contents),
                "payloadType": Envelope._TYPE,
                "signatures": [{"sig": _base64(signature)}],
            },
        }
        return Bundle.from_json(json.dumps(bundle))

    def verify_dsse(self, bundle: Bundle, _policy: object) -> tuple[str, bytes]:
        """Return the type and the content of an envelope that this key has signed."""
        envelope = bundle._dsse_envelope
        try:
            self._key.public_key().verify(envelope.signature, envelope.pae(), ec.ECDSA(SHA256()))
        except InvalidSignature as error:
            raise Unverified("another key has signed it") from error
        return envelope._inner.payload_type, envelope._inner.payload


def main(wheels: list[Path]) -> int:
    """Attest each wheel; return the exit code."""
    key = LocalKey()
    with tempfile.TemporaryDirectory() as made:
        for wheel in wheels:
            written = Path(made, f"{wheel.name}.publish.attestation")
            written.write_text(Attestation.sign(key, Distribution.from_file(wheel)).model_dump_json())
            attestation = Attestation.model_validate_json(written.read_bytes())
            altered, renamed = Path(made, wheel.name), Path(made, wheel.name.replace("-py3-", "-py2-"))
            altered.write_bytes(wheel.read_bytes() + b"\0")
            renamed.write_bytes(wheel.read_bytes())
            for file, judge, wanted in (
                (wheel, key, ""),
                (altered, key, "does not match distribution digest"),
                (renamed, key, "does not match distribution name"),
                (wheel, LocalKey(), "another key has signed it"),
                (wheel, None, "not enough sources of verified time"),
            ):
                found = refusal(attestation, file, judge)
                sys.stdout.write(f"{file.name}: {found or 'verified'}\n")
                if wanted not in found or bool(wanted) != bool(found):
                    sys.exit(f"wanted: {wanted or 'verified'}")
    return 0


def refusal(attestation: Attestation, wheel: Path, key: LocalKey | None) -> str:
    """Return why an attestation is none of a wheel, empty if it is one. ``key``: None for Sigstore's roots."""
    verifier = key or Verifier.production(offline=True)
    with patch.object(Verifier, "production", lambda **_: verifier):
        try:
            attestation.verify(PUBLISHER, Distribution.from_file(wheel), offline=True)
        except VerificationError as error:
            return str(error)
    return ""


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


if __name__ == "__main__":
    sys.exit(main([Path(word) for word in sys.argv[1:]]))
