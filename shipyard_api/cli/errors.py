"""The errors of a request; their texts are what the command prints (contract: shipyard-cli, 4)."""


class ApiError(Exception):
    """A request failed; the text is the contract's.

    ``temporary``: the same request may succeed later. ``sent``: the server may have received it, and acted on it.
    ``status``: of the answer, 0 without one. ``why``: why there is none, without the words about the request.
    """

    def __init__(
        self, text: str, *, temporary: bool = False, sent: bool = False, status: int = 0, why: str = ""
    ) -> None:
        super().__init__(text)
        self.temporary = temporary
        self.sent = sent
        self.status = status
        self.why = why


class UnreadableError(ValueError):
    """A body is not the JSON, YAML or Status that it must be."""


class ShapeError(ApiError):
    """An answer does not have the shape that the REST contract gives it; ``detail`` names the field."""

    def __init__(self, detail: str) -> None:
        super().__init__(f"Error: Unable to invoke action due to: the answer has an unexpected shape ({detail})")
