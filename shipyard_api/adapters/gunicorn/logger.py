"""gunicorn's own log in the form of ours: JSON lines, and no secrets in what it quotes of a broken request."""

from typing import Any

from gunicorn.glogging import Logger

from shipyard_api.observing.logs import JsonLines


class JsonLogger(Logger):  # type: ignore[misc]  # gunicorn has no types
    """Fills gunicorn's ``logger_class``; where the lines go, gunicorn's own settings say."""

    def setup(self, cfg: Any) -> None:
        """Make the handlers that the settings ask for, with our form."""
        super().setup(cfg)
        for handler in (*self.error_log.handlers, *self.access_log.handlers):
            handler.setFormatter(JsonLines())
