"""The check of a server before it opens its port, in a child process: the server has no connection and no thread."""

import os
import sys
import traceback
from collections.abc import Callable


def passes(check: Callable[[], None]) -> bool:
    """Run a check in a child process; return whether it ended. One that raises has written why, or is a bug."""
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if not child:
        code = 1
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the processes of the server log the same
            check()
            code = 0
        except SystemExit as ended:
            code = int(ended.code or 0)
        except BaseException:  # noqa: BLE001  # the child must end here
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) == 0
