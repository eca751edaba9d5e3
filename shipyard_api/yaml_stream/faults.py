"""Faults of a stream, with their places."""


class YamlFault(Exception):
    """One fault of a stream.

    ``line`` and ``column`` count from 1, ``document`` from 0 (the text counts documents from 1); each is None where it
    does not apply. ``faults``: this fault, or all of them if there are several.
    """

    def __init__(
        self, message: str, *, line: int | None = None, column: int | None = None, document: int | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column
        self.document = document

    @property
    def faults(self) -> "tuple[YamlFault, ...]":
        """Every fault, in the order of the stream."""
        return (self,)

    def __str__(self) -> str:
        place = [] if self.line is None else [f"line {self.line}, column {self.column}"]
        if self.document is not None:
            place.append(f"(document {self.document + 1})")
        return f"{' '.join(place)}: {self.message}" if place else self.message


class YamlFaults(YamlFault):
    """Several faults of a stream; message and place are those of the first."""

    def __init__(self, faults: tuple[YamlFault, ...]) -> None:
        first = faults[0]
        super().__init__(first.message, line=first.line, column=first.column, document=first.document)
        self.args = (faults,)  # for pickle: a stream may be read in another process
        self._faults = faults

    @property
    def faults(self) -> tuple[YamlFault, ...]:
        """Every fault, in the order of the stream."""
        return self._faults

    def __str__(self) -> str:
        return "\n".join(str(fault) for fault in self._faults)
