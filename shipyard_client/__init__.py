"""A typed client of Shipyard: ``Site`` for what people do, and ``rest`` with every operation and model of the API."""

from shipyard_client.site import ActionFailed, Event, ShipyardError, Site

__all__ = ["ActionFailed", "Event", "ShipyardError", "Site"]
