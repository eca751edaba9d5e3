"""Shipyard: deploys a bare-metal site group by group, durably, with one service and one Postgres."""
