"""Metrics in Prometheus' text format, with prometheus_client."""

from collections.abc import Iterator
from dataclasses import dataclass

from shipyard_api.settings.types import Address, HeaderSecret, authority_faults


@dataclass(frozen=True, slots=True)
class PrometheusOptions:
    """How to reach the Prometheus that answers the queries of rollout policies. Without it, such designs are refused.

    ``url``: its base address, such as http://prometheus.example:9090.
    ``token``: sent as a bearer token; empty: none.
    ``ca_file``: the certificate authorities (PEM) to trust; empty: the well-known ones.
    ``connect_timeout_seconds``: timeout of a connection.
    ``read_timeout_seconds``: timeout of an answer.
    """

    url: Address = Address("")  # noqa: RUF009  # immutable
    token: HeaderSecret = HeaderSecret("")  # noqa: RUF009  # immutable
    ca_file: str = ""
    connect_timeout_seconds: float = 5.0
    read_timeout_seconds: float = 15.0

    def faults(self) -> Iterator[str]:
        """Yield why the authorities cannot be used."""
        yield from authority_faults("[prometheus] ca_file", self.ca_file)
