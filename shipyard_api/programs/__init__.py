"""The programs of Shipyard: API, worker, embedded stack, administration; each is started with ``python -m``."""
