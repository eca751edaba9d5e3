"""A server that was killed leaves the directory of its metrics, and the next server removes it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from shipyard_api.adapters.gunicorn.metrics_directory import own_directory

# A server, and a process that it forked and that outlives it; both wait for the end of stdin.
SERVER = """
import os, sys
from shipyard_api.adapters.gunicorn.metrics_directory import own_directory
directory = own_directory(sys.argv[2])
if os.fork():
    print(directory, flush=True)
    os.read(int(sys.argv[1]), 1)
else:
    os.read(0, 1)
"""


@contextmanager
def server(directory: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Run a server with its metrics below a directory; at the end nothing of it is left."""
    endless, end = os.pipe()
    with subprocess.Popen(
        [sys.executable, "-c", SERVER, str(endless), str(directory)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        pass_fds=[endless],
    ) as process:
        try:
            yield process, Path(process.stdout.readline().strip())
        finally:
            process.kill()
            os.close(end)
            os.close(endless)


def test_the_directories_of_killed_servers_are_removed(tmp_path: Path) -> None:
    foreign = tmp_path / "shipyard-metrics-file"
    foreign.touch()
    with ExitStack() as running:
        (killed, left), (_, used) = (running.enter_context(server(tmp_path)) for _ in range(2))
        (left / "counter.db").touch()
        killed.kill()
        killed.wait()
        own_directory(str(tmp_path))
        assert left.exists(), "the processes of the server still write there"

        killed.stdin.close()
        killed.stdout.read()  # until the last process has ended
        own = Path(own_directory(str(tmp_path)))

        assert not left.exists()
        assert used.exists()
        assert own.is_dir()
        assert foreign.exists()
