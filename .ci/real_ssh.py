"""The step "real sshd" of .ci/run: the contract of tasks on nodes against real OpenSSH servers on loopback.

Where openssh-server is installed, the step "tests" has run them. Otherwise it is installed here, if we are root on
Debian or Ubuntu. The tests start their servers themselves, with their own keys and ports.
"""

import os
import shutil
import subprocess
import sys

from real_peer import LEFT_OUT, run

TESTS = ["-n", "2", "tests/contract/test_remote_tasks_port.py", "tests/contract/test_supervisor.py"]
INSTALL = ["apt-get", "-qq", "install", "-y", "--no-install-recommends", "openssh-server"]


def has_sshd() -> bool:
    """Return whether there is an OpenSSH server."""
    return shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin") is not None


def main() -> int:
    """Install the server if it is missing, then run the tests; return the exit code."""
    if has_sshd():
        sys.stdout.write('openssh-server was installed before: the step "tests" has run these tests\n')
        return 0
    if os.geteuid() == 0 and shutil.which("apt-get"):
        for command in (["apt-get", "-qq", "update"], INSTALL):
            subprocess.run(command, check=False, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
    if not has_sshd():
        sys.stdout.write("left out: openssh-server is missing, and could not be installed\n")
        return LEFT_OUT
    return run(["./dev", "test", *TESTS], {})


if __name__ == "__main__":
    sys.exit(main())
