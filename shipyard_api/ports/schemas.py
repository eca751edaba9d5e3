"""Checking JSON values against the schemas that ship with Shipyard."""

from typing import Protocol

from shipyard_api.domain.findings import Finding


class UnknownSchema(KeyError):
    """No schema of that name ships with Shipyard."""


class Schemas(Protocol):
    """The schemas by name, such as ``deployment_strategy_v1``."""

    def check(self, schema: str, value: object) -> tuple[Finding, ...]:
        """Return every mismatch of the value, each with its path; empty if it matches.

        The findings are errors named ``SchemaError``; their ``diagnostic`` is ``keyword : value of the keyword``, as
        callers of POST /actions know it. Raises UnknownSchema.
        """
