"""The step "real Prometheus" of .ci/run: promtool executes the queries of the sample dashboard and alert rules.

A Prometheus answers the queries of the port's suite. Both programs on PATH are used; otherwise Debian's are unpacked
into the build folder, and nothing is installed.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from real_peer import ROOT, Environment, LeftOut, step

TESTS = ["-n", "0", "tests/unit/adapters/prometheus/test_site_queries.py", "tests/contract/test_queries_port.py"]


@contextmanager
def promtool() -> Iterator[Environment]:
    """Find both programs, or unpack them. Raises LeftOut if neither works."""
    if shutil.which("promtool") and shutil.which("prometheus"):
        yield {}
        return
    place = ROOT / ".build" / "prometheus"
    programs = place / "usr" / "bin"
    if not (programs / "promtool").is_file():
        place.mkdir(parents=True, exist_ok=True)
        unpack = "apt-get -qq download prometheus && dpkg -x prometheus_*.deb ."
        done = subprocess.run(["/bin/sh", "-c", unpack], cwd=place, check=False, capture_output=True, text=True)
        if done.returncode:
            raise LeftOut(f"promtool is not installed, and apt has none: {done.stderr.strip() or 'no output'}")
    yield {"PATH": f"{os.environ['PATH']}:{programs}"}


if __name__ == "__main__":
    sys.exit(step(promtool, TESTS))
