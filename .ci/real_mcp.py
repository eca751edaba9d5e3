"""The step "real MCP client" of .ci/run: the official client library asks `shipyard mcp` before a running stack.

The extra is installed beside the environment, not into it: neither the demo nor ``./dev test`` has it.
"""

import sys
from functools import partial

from real_peer import installed_beside, step

TESTS = ["-n", "0", "tests/acceptance/test_mcp.py"]

if __name__ == "__main__":
    sys.exit(step(partial(installed_beside, "mcp"), TESTS))
