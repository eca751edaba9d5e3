"""The step "real sshd" of .ci/run: tests of tasks on nodes, against real OpenSSH servers on loopback.

openssh-server is installed here if it is missing and we are root on Debian or Ubuntu. The tests start their servers
themselves, with their own keys and ports.
"""

import os
import shutil
import subprocess
import sys

from real_peer import LEFT_OUT, LeftOut, run_skipped

INSTALL = ["apt-get", "-qq", "install", "-y", "--no-install-recommends", "openssh-server"]


def has_sshd() -> bool:
    """Return whether there is an OpenSSH server."""
    return shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin") is not None


def main() -> int:
    """Install the server if it is missing, then run the tests; return the exit code."""
    if not has_sshd() and os.geteuid() == 0 and shutil.which("apt-get"):
        for command in (["apt-get", "-qq", "update"], INSTALL):
            subprocess.run(command, check=False, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
    if not has_sshd():
        sys.stdout.write("left out: openssh-server is missing, and could not be installed\n")
        return LEFT_OUT
    try:
        return run_skipped("there is no sshd", arguments=("-n", "2"))
    except LeftOut as reason:
        sys.stdout.write(f"left out: {reason}\n")
        return LEFT_OUT


if __name__ == "__main__":
    sys.exit(main())
