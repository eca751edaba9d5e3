"""Load documents and commit them."""

DOCUMENTATION = r"""
module: design
short_description: Load the documents of a site and commit them
description:
  - Replaces a collection of the design by these documents, and commits it, unless it is like this already.
  - In check mode nothing is sent; the difference is that to the committed documents.
  - Secrets cannot be compared in check mode.
requirements: [PyYAML]
options:
  collection:
    description: The name of the collection.
    type: str
    required: true
  documents:
    description: The documents, a YAML stream, such as that of the lookup P(ansible.builtin.file#lookup).
    type: str
    required: true
  commit:
    description: Whether to commit them, or leave them in the buffer.
    type: bool
    default: true
extends_documentation_fragment: [shipyard.site.server]
attributes:
  check_mode: {support: full, description: Can run in check mode.}
  diff_mode: {support: full, description: Returns the difference.}
author: The Shipyard developers (@shipyard)
"""
EXAMPLES = r"""
- name: The design of the site
  shipyard.site.design:
    collection: design
    documents: "{{ lookup('ansible.builtin.file', 'site.yaml') }}"
"""
RETURN = r"""
findings: {description: The findings of the commit., type: list, elements: dict, returned: if committed}
"""

from ansible.module_utils.basic import missing_required_lib
from ansible_collections.shipyard.site.plugins.module_utils.server import Refused, Server, module

try:
    import yaml
except ImportError:
    yaml = None


def documents(text):
    """Return the documents of a stream by schema and name, without what the server adds."""
    found = {}
    for one in yaml.safe_load_all(text or ""):
        if isinstance(one, dict):
            metadata = one.get("metadata", {})
            is_secret = metadata.get("storagePolicy") == "encrypted"
            kept = {"schema": one.get("schema"), "metadata": metadata, "data": "***" if is_secret else one.get("data")}
            found[str(one.get("schema")), str(metadata.get("name"))] = kept
    return found


def text(found):
    """Return documents in order of schema and name."""
    return yaml.safe_dump_all([found[key] for key in sorted(found)], sort_keys=True)


def main():
    """Run the module."""
    ansible = module(
        collection={"type": "str", "required": True},
        documents={"type": "str", "required": True},
        commit={"type": "bool", "default": True},
    )
    if yaml is None:
        ansible.fail_json(msg=missing_required_lib("PyYAML"))
    server, given = Server(ansible), ansible.params
    path = f"/configdocs/{given['collection']}"
    try:
        wanted = documents(given["documents"])
    except yaml.YAMLError as error:
        ansible.fail_json(msg=f"documents is no YAML: {error}")
    stored = documents(server.get(path, {"version": "committed"}))
    before, after = text(stored), text(wanted)
    diff = {"before": before, "after": after, "before_header": "committed", "after_header": given["collection"]}
    has_secrets = any(one["data"] == "***" for one in wanted.values())
    if ansible.check_mode or (before == after and not has_secrets):
        ansible.exit_json(changed=before != after, diff=diff)
    try:
        server.ask("POST", path, given["documents"], {"buffermode": "replace"})
    except Refused as error:
        if "created no new revision" not in str(error):
            server.fail(error)
    collections = server.get("/configdocs") or []
    status = {one["collection_name"]: one["new_status"] for one in collections}
    if set(status.values()) <= {"unmodified"}:
        ansible.exit_json(changed=False, diff=diff)
    if not given["commit"]:
        ansible.exit_json(changed=True, diff=diff, collections=status)
    done = server.write("POST", "/commitconfigdocs")
    ansible.exit_json(changed=True, diff=diff, findings=done["details"]["messageList"])


if __name__ == "__main__":
    main()
