"""Certificates for servers on loopback, and the authority that vouches for them."""

import ipaddress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec


@dataclass
class Authority:
    """An authority, and what it vouches for, as files."""

    directory: Path
    name: str = "authority"

    def __post_init__(self) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.file = self._write(self.name, self._certificate(self.name, self.key, ca=True))

    def vouch(self, name: str) -> tuple[Path, Path]:
        """Return the files of a certificate and of its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        file = self.directory / f"{name}.key"
        pkcs8, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        file.write_bytes(key.private_bytes(serialization.Encoding.PEM, pkcs8, plain))
        return self._write(name, self._certificate(name, key, ca=False)), file

    def _write(self, name: str, certificate: x509.Certificate) -> Path:
        file = self.directory / f"{name}.pem"
        file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        return file

    def _certificate(self, name: str, key: ec.EllipticCurvePrivateKey, *, ca: bool) -> x509.Certificate:
        now = datetime.now(UTC)
        own, issuer = (x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, each)]) for each in (name, self.name))
        loopback = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
        builder = x509.CertificateBuilder().subject_name(own).issuer_name(issuer).public_key(key.public_key())
        builder = builder.serial_number(x509.random_serial_number()).add_extension(loopback, critical=False)
        builder = builder.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
        builder = builder.add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
        return builder.sign(self.key, hashes.SHA256())
