"""Record the exchanges that the Kubernetes simulator is held to, or check them with ``--check`` (recording.py).

``KUBECONFIG_FOR_TESTS`` names the API server (../shared/recipes/run_kube_apiserver.sh), which has no nodes.
"""

import json
import os
import sys
from pathlib import Path

import yaml
from recording import record, sent, until

from shipyard_simulators.tests.kubernetes.stories import RECORDINGS, KubernetesPlayer
from shipyard_simulators.tests.recorded import Answer

CONFIG = yaml.safe_load(Path(os.environ["KUBECONFIG_FOR_TESTS"]).read_text())
URL, TOKEN = CONFIG["clusters"][0]["cluster"]["server"], CONFIG["users"][0]["user"]["token"]
NODES = "/api/v1/nodes"


def send(method: str, path: str, content: bytes | None, kind: str) -> Answer:
    """Send a request."""
    return sent(URL + path, method, content, {"Content-Type": kind, "Authorization": f"Bearer {TOKEN}"})


def clear() -> None:
    """Delete all nodes."""
    for node in json.loads(send("GET", NODES, None, "").text)["items"]:
        path = f"{NODES}/{node['metadata']['name']}"
        send("PATCH", path, b'{"metadata": {"finalizers": null}}', "application/merge-patch+json")
        until(lambda path=path: send("DELETE", path, None, "application/json").status == 404)  # type: ignore[misc]


if __name__ == "__main__":
    sys.exit(record(sys.argv[1:], RECORDINGS, KubernetesPlayer(URL, send), clear))
