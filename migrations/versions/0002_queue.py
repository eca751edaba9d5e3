"""Tables and functions of the queue: Procrastinate 3.10.

The text comes from the installed package, whose minor version setup.cfg fixes; its checksum is fixed here, so that a
package with another schema cannot slip in unseen. A newer Procrastinate needs a migration of its own.
"""

import hashlib

import sqlalchemy as sa
from alembic import op
from procrastinate.schema import SchemaManager

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

SCHEMA_SHA256 = "c70ec4b400a60ad9592787653aae5ae77ae41bf801d56b5bd2712751a07f2009"


def upgrade() -> None:
    schema = SchemaManager.get_schema()
    found = hashlib.sha256(schema.encode()).hexdigest()
    if found != SCHEMA_SHA256:
        raise RuntimeError(
            f"the installed procrastinate brings a schema that this release does not know ({found}); install the "
            "version that setup.cfg names"
        )
    op.execute(sa.text(schema))


def downgrade() -> None:
    raise NotImplementedError("migrations go forward only: restore a backup instead")
