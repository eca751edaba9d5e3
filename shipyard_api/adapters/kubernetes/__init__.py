"""The ports of the cluster and of its nodes, filled by a Kubernetes API server."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from shipyard_api.settings.types import Address, HeaderSecret, authority_faults


@dataclass(frozen=True, slots=True)
class KubernetesOptions:
    """How to reach the cluster that deployed servers join. Without it, joining is not checked.

    ``kubeconfig``: a kubeconfig file with a token or a client certificate; or give ``url``, not both.
    ``context``: the context of the kubeconfig to use; empty: its current one.
    ``url``: the API server's address, such as https://10.0.0.1:6443.
    ``token``: only with ``url``; sent as a bearer token.
    ``ca_file``: only with ``url``; the certificate authorities (PEM) to trust; empty: the well-known ones.
    ``connect_timeout_seconds``: timeout of a connection.
    ``read_timeout_seconds``: timeout of an answer.
    """

    kubeconfig: str = ""
    context: str = ""
    url: Address = Address("")  # noqa: RUF009  # immutable
    token: HeaderSecret = HeaderSecret("")  # noqa: RUF009  # immutable
    ca_file: str = ""
    connect_timeout_seconds: float = 5.0
    read_timeout_seconds: float = 30.0

    def faults(self) -> Iterator[str]:
        """Yield the settings that contradict each other, and files that do not exist."""
        if self.kubeconfig and self.url:
            yield "[kubernetes] kubeconfig and url: both name a cluster; give one of them"
        if self.context and not self.kubeconfig:
            yield "[kubernetes] context: needs a kubeconfig; set kubeconfig as well"
        for name, value in (("token", self.token), ("ca_file", self.ca_file)):
            if value and not self.url:
                yield f"[kubernetes] {name}: needs url, which is not set"
        if self.kubeconfig and not Path(self.kubeconfig).expanduser().is_file():
            yield f"[kubernetes] kubeconfig: there is no file {self.kubeconfig}"
        yield from authority_faults(
            "[kubernetes] ca_file", str(Path(self.ca_file).expanduser()) if self.ca_file else ""
        )
