"""The options of every module of this collection."""


class ModuleDocFragment:
    """The server and the token."""

    DOCUMENTATION = r"""
options:
  url:
    description: The address of the server; by default that of the environment variable E(SHIPYARD_URL).
    type: str
  token:
    description: A token for it; by default that of the environment variable E(SHIPYARD_TOKEN).
    type: str
  ca_path:
    description: The certificate authorities to trust; by default the system's.
    type: path
"""
