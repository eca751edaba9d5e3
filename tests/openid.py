"""A real OpenID provider: oidc-provider of npm, which ``.ci/real_oidc.py`` installs and names in OIDC_PROVIDER."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from shipyard_api.child_processes import die_with_parent
from tests.waiting import PATIENCE

PROVIDER = os.environ.get("OIDC_PROVIDER", "")


@contextmanager
def provider(port: int, page: str) -> Iterator[str]:
    """Run the provider with new keys, and give its issuer."""
    process = subprocess.Popen(
        [str(shutil.which("node")), "provider.mjs", str(port), f"{page}/oidc/callback"],
        cwd=PROVIDER,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        preexec_fn=die_with_parent,
        text=True,
    )
    try:
        assert process.stdout is not None
        issuer = process.stdout.readline().strip()
        assert issuer, "the provider did not come up"
        yield issuer
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)
