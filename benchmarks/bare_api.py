"""What the API is compared with: a bare Falcon route with one question to the database, and nothing else.

No caller is known here, nothing is checked, counted or written down. Served by gunicorn as the API is, with the same
number of workers and the same pool of threads; the database is asked through the same library, on connections that
stay open and without a transaction around the question. ``benchmarks/api.py`` starts it.
"""

import os
from typing import Any

import falcon.asgi
import sqlalchemy as sa

from shipyard_api.api.http.threads import answer_in_thread, threaded

_ENGINE = sa.create_engine(
    sa.make_url(os.environ["DATABASE_URL"]).set(drivername="postgresql+psycopg2"),
    pool_size=8,
    isolation_level="AUTOCOMMIT",
)
_COLUMNS = "id, name, parameters, user_name, context_marker, revision, state, epoch, created_at, started_at, ended_at"
_ONE = sa.text(f"SELECT {_COLUMNS} FROM actions WHERE id = :id")
_ALL = sa.text(f"SELECT {_COLUMNS} FROM actions ORDER BY id LIMIT :limit")
_INSERT = sa.text("INSERT INTO bare (body) VALUES (:body)")


class One:
    @threaded
    def on_get(self, _req: falcon.Request, resp: falcon.Response, action_id: str) -> None:
        with _ENGINE.connect() as connection:
            row = connection.execute(_ONE, {"id": action_id}).one()
        resp.media = _entity(row)


class All:
    @threaded
    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        with _ENGINE.connect() as connection:
            rows = connection.execute(_ALL, {"limit": req.get_param_as_int("limit")}).all()
        resp.media = [_entity(row) for row in rows]


class Insert:
    async def on_post(self, req: falcon.asgi.Request, resp: falcon.Response) -> None:
        body = await req.stream.read()

        def insert() -> None:
            with _ENGINE.connect() as connection:
                connection.execute(_INSERT, {"body": body.decode()})
            resp.media = {"stored": len(body)}

        resp.status = falcon.HTTP_201
        await answer_in_thread(resp, insert)


def _entity(row: "sa.Row[Any]") -> dict[str, Any]:
    moments = {name: str(getattr(row, name)) for name in ("created_at", "started_at", "ended_at")}
    return {**row._mapping, **moments}


app: falcon.asgi.App[Any, Any] = falcon.asgi.App()
app.add_route("/api/v1.0/actions/{action_id}", One())
app.add_route("/api/v1.0/actions", All())
app.add_route("/api/v1.0/configdocs/bench", Insert())
