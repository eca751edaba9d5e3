"""A worker whose only action fans out: ``python -m tests.item_worker URL``. Its peer is a table of the database.

The table stands for a real peer: each call has a connection of its own, which commits apart from ours.
"""

import sys

import sqlalchemy as sa

from shipyard_api.domain.actions import ActionName
from shipyard_api.storage.unit_of_work import connect
from shipyard_api.workflow.definition import Definition, fixed
from tests.fan_out import FanOut, SampleItem
from tests.one_worker import work

PEER = "CREATE TABLE sample_jobs (id bigserial PRIMARY KEY, marker text NOT NULL, target text NOT NULL)"


class TablePeer:
    """Fills the place of the sample's peer in memory."""

    def __init__(self, url: str) -> None:
        self._engine = connect(url, pool_size=5).execution_options(isolation_level="AUTOCOMMIT")

    def submit(self, marker: str, target: str) -> str:
        with self._engine.connect() as connection:
            connection.execute(sa.text("SELECT pg_sleep(0.05)"))
            sql = sa.text("INSERT INTO sample_jobs (marker, target) VALUES (:marker, :target) RETURNING id")
            return str(connection.execute(sql, {"marker": marker, "target": target}).scalar_one())

    def find(self, marker: str) -> str | None:
        with self._engine.connect() as connection:
            sql = sa.text("SELECT id::text FROM sample_jobs WHERE marker = :marker")
            found: str | None = connection.execute(sql, {"marker": marker}).scalar()
        return found

    def poll(self, job: str) -> str:
        return "success"


def main(url: str) -> int:
    return work(url, lambda _: Definition(ActionName("test_site"), fixed(FanOut(SampleItem(TablePeer(url))))))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
