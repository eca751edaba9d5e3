"""The step "known vulnerabilities" of .ci/run: pip-audit over everything that is installed in production.

It is left out if the advisory service does not answer, or answers for no package: a mirror of the index has none.
"""

import json
import subprocess
import sys
from pathlib import Path

from real_peer import LEFT_OUT

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ("requirements.lock", "requirements-extras.lock")


def main() -> int:
    """Audit; return the exit code."""
    program = str(ROOT / ".build" / "packaging" / "bin" / "pip-audit")
    words = ["--disable-pip", "--require-hashes", "--timeout", "20", "--progress-spinner", "off", "--format", "json"]
    named = [word for lock in LOCKS for word in ("--requirement", lock)]
    done = subprocess.run([program, *words, *named], cwd=ROOT, capture_output=True, text=True, check=False)
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except ValueError:
        last = done.stderr.strip().splitlines()[-1:] or ["no output"]
        if "Error" not in last[0] or "onnection" not in last[0]:
            sys.stdout.write(done.stderr)
            return 1
        sys.stdout.write(f"left out: the advisory service does not answer: {last[0][:200]}\n")
        return LEFT_OUT
    audited = [one for one in packages if "skip_reason" not in one]
    for one in audited:
        for found in one["vulns"]:
            fixed = ", ".join(found["fix_versions"]) or "no release"
            sys.stdout.write(f"{one['name']} {one['version']}: {found['id']}, fixed in {fixed}\n")
    if not audited:
        sys.stdout.write(f"left out: the advisory service knows none of {len(packages)} packages\n")
        return LEFT_OUT
    sys.stdout.write(f"{len(audited)} of {len(packages)} packages were audited\n")
    return int(any(one["vulns"] for one in audited))


if __name__ == "__main__":
    sys.exit(main())
