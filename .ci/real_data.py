"""The step "tests with ../shared" of .ci/run: tests that need real site designs and task graphs beside the checkout.

The newcomer's run of all tests has skipped them.
"""

import sys

from real_peer import LEFT_OUT, ROOT, LeftOut, run_skipped

DATA = ROOT.parent / "shared" / "data"


def main() -> int:
    """Run the tests if the data is there; return the exit code."""
    if not DATA.is_dir():
        sys.stdout.write("left out: ../shared/data is missing beside this checkout\n")
        return LEFT_OUT
    try:
        return run_skipped("beside this checkout")
    except LeftOut as reason:
        sys.stdout.write(f"left out: {reason}\n")
        return LEFT_OUT


if __name__ == "__main__":
    sys.exit(main())
