"""The step "tests of what a newcomer lacks" of .ci/run: tests that the newcomer's run of all tests has skipped.

They need the real site designs and task graphs of ../shared, or a program that nothing installs for them.
"""

import shutil
import sys

from real_peer import LEFT_OUT, ROOT, LeftOut, run_skipped

AVAILABLE = {
    "beside this checkout": (ROOT.parent / "shared" / "data").is_dir(),
    "curl is not installed": shutil.which("curl"),
    "PgBouncer is not installed": shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin"),
}


def main() -> int:
    """Run the tests whose reason does not hold here; return the exit code."""
    found = [reason for reason, available in AVAILABLE.items() if available]
    lacking = AVAILABLE.keys() - set(found)
    if lacking:
        sys.stdout.write(f"still skipped: {', '.join(sorted(lacking))}\n")
    if not found:
        sys.stdout.write("left out: there is neither ../shared/data nor one of the programs\n")
        return LEFT_OUT
    try:
        return run_skipped(*found)
    except LeftOut as reason:
        sys.stdout.write(f"left out: {reason}\n")
        return LEFT_OUT


if __name__ == "__main__":
    sys.exit(main())
