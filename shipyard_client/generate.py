"""Make the part ``rest`` of the client from the OpenAPI document, with openapi-python-client.

``python generate.py schemas/openapi.yaml``, in an environment that has it; its output is no part of the repository.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

HERE = Path(__file__).resolve().parent
TAGS = {"actions", "configdocs", "nodes", "service"}
# Words stay texts: a newer server has more of them, and the generated part refuses what it does not list.
LEFT_OUT = ("application/problem+json", "enum")
CONFIG: dict[str, Any] = {"post_hooks": []}


def main(source: str) -> int:
    """Write the part; return the exit code of the generator."""
    document = narrowed(YAML(typ="safe").load(Path(source)))
    with tempfile.TemporaryDirectory() as made:
        written, config = Path(made, "openapi.json"), Path(made, "config.json")
        written.write_text(json.dumps(document), encoding="utf-8")
        config.write_text(json.dumps(CONFIG), encoding="utf-8")
        words = ["--path", str(written), "--config", str(config), "--output-path", str(HERE / "rest")]
        command = [sys.executable, "-m", "openapi_python_client", "generate", "--meta", "none", "--overwrite", *words]
        return subprocess.run(command, check=False).returncode


def narrowed(document: dict[str, Any]) -> dict[str, Any]:
    """Return the document with the operations of Airship's dialect, one form for each answer, and what these use."""
    paths: dict[str, Any] = {}
    for path, item in document["paths"].items():
        kept = {name: part for name, part in item.items() if name == "parameters" or TAGS & set(part["tags"])}
        if kept.keys() - {"parameters"}:
            paths[path] = kept
    found: dict[str, Any] = _without(document | {"paths": paths}, LEFT_OUT)
    components = found["components"]
    while True:
        text = json.dumps(found)
        unused = [
            (kind, name)
            for kind in components.keys() - {"securitySchemes"}
            for name in components[kind]
            if f'"#/components/{kind}/{name}"' not in text
        ]
        if not unused:
            return found
        for kind, name in unused:
            del components[kind][name]


def _without(value: Any, names: tuple[str, ...]) -> Any:
    if isinstance(value, dict):
        return {name: _without(part, names) for name, part in value.items() if name not in names}
    return [_without(part, names) for part in value] if isinstance(value, list) else value


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
