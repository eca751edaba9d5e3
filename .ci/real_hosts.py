"""The step "lost hosts, full disk" of .ci/run, in a network and with mounts of its own, which end with the step.

Further arguments are pytest's.
"""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from real_peer import Environment, LeftOut, run, step

TESTS = ["-n", "0", "-m", "crash", "tests/crash/test_three_hosts.py", "tests/crash/test_full_disk.py"]
WITHIN = ["unshare", "--net", "--mount", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]


@contextmanager
def tools() -> Iterator[Environment]:
    """Install what makes networks. Raises LeftOut if that is impossible here."""
    if os.geteuid() != 0:
        raise LeftOut("network namespaces need root")
    if shutil.which("bridge") is None and shutil.which("apt-get"):
        run(["apt-get", "-qq", "install", "-y", "--no-install-recommends", "iproute2"], {})
    if missing := [name for name in ("bridge", "ip", "nsenter", "unshare") if shutil.which(name) is None]:
        raise LeftOut(f"this machine has no {' and no '.join(missing)}")
    yield {"SHIPYARD_OWN_MOUNTS": "yes"}


if __name__ == "__main__":
    sys.exit(step(tools, [*TESTS, *sys.argv[1:]], within=WITHIN))
