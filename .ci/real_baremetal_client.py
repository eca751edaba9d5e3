"""The step "real baremetal client" of .ci/run: python-ironicclient from the registry, unmodified, against our API.

The client has an environment of its own: its libraries are not ours.
"""

import sys
from functools import partial

from real_peer import installed, step

CLIENT = partial(installed, "python-ironicclient==6.3.0", "baremetal", "BAREMETAL_CLIENT")
TESTS = ["-n", "0", "tests/acceptance/test_baremetal_client.py"]

if __name__ == "__main__":
    sys.exit(step(CLIENT, TESTS))
