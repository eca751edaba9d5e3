"""What is wrong with a stream, and where."""


class YamlFault(Exception):
    """One thing that is wrong with a stream.

    ``line`` and ``column`` count from 1, ``document`` from 0 (the text counts documents from 1, as people do); each is
    None where there is no such place. ``faults`` is this fault, or all of them when there were several.
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
        """Return every fault that was found, in the order of the stream."""
        return (self,)

    def __str__(self) -> str:
        place = [] if self.line is None else [f"line {self.line}, column {self.column}"]
        if self.document is not None:
            place.append(f"(document {self.document + 1})")
        return f"{' '.join(place)}: {self.message}" if place else self.message


class YamlFaults(YamlFault):
    """Several things that are wrong with a stream; message and place are those of the first."""

    def __init__(self, faults: tuple[YamlFault, ...]) -> None:
        first = faults[0]
        super().__init__(first.message, line=first.line, column=first.column, document=first.document)
        self.args = (faults,)  # pickle makes the copy from these; a stream may be read in another process
        self._faults = faults

    @property
    def faults(self) -> tuple[YamlFault, ...]:
        """Return every fault that was found, in the order of the stream."""
        return self._faults

    def __str__(self) -> str:
        return "\n".join(str(fault) for fault in self._faults)
