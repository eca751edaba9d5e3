"""The step "publication, without an account" of .ci/run: what a publisher does with the wheels of `./dev release`.

`twine check` reads them as the index does, and each is attested (attestations.py). The rest needs a network identity,
an account or a registry, and is not played: a certificate of Sigstore, its log, uploads, and signatures of images.
"""

import sys
from pathlib import Path

from real_peer import LEFT_OUT, ROOT, LeftOut, installed, run

PACKAGES = "twine==7.0.0 pypi-attestations==0.0.30"


def main() -> int:
    """Check and attest; return the exit code."""
    wheels = sorted(str(wheel) for wheel in (ROOT / ".build" / "release").glob("*.whl"))
    if len(wheels) != 3:
        sys.stdout.write(f"./dev release has left {len(wheels)} wheels\n")
        return 1
    try:
        with installed(PACKAGES, "python", "PYTHON") as found:
            python = found["PYTHON"]
            checked = run([python, "-m", "twine", "check", "--strict", *wheels], {})
            return run([python, str(Path(__file__).with_name("attestations.py")), *wheels], {}) or checked
    except LeftOut as reason:
        sys.stdout.write(f"left out: {reason}\n")
        return LEFT_OUT


if __name__ == "__main__":
    sys.exit(main())
