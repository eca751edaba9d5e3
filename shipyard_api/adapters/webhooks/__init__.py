"""The webhooks port, filled over HTTP."""
