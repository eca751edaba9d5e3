"""The revision in which a document last changed, encrypted contents, the store's own keys, a third role of tokens.

A document that was there before has been as it is since the lowest revision of the unbroken run in which the same
content was held, by the numbers of the revisions.
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

# In a run of consecutive revisions, the position of the revision among all and the position of the row among those of
# the same content grow together, so their difference identifies the run.
_FILL_SINCE = """
WITH places AS (
    SELECT id, row_number() OVER (ORDER BY id) AS place FROM revisions
), runs AS (
    SELECT d.revision, d.schema, d.layer, d.name, d.hash,
           p.place - row_number() OVER (PARTITION BY d.schema, d.layer, d.name, d.hash ORDER BY p.place) AS run
    FROM revision_documents d JOIN places p ON p.id = d.revision
), beginnings AS (
    SELECT revision, schema, layer, name,
           min(revision) OVER (PARTITION BY schema, layer, name, hash, run) AS beginning
    FROM runs
)
UPDATE revision_documents d SET since = b.beginning
FROM beginnings b
WHERE (d.revision, d.schema, d.layer, d.name) = (b.revision, b.schema, b.layer, b.name)
"""


def upgrade() -> None:
    op.add_column("revision_documents", sa.Column("since", sa.Integer(), nullable=True))
    op.execute(sa.text(_FILL_SINCE))
    op.alter_column("revision_documents", "since", nullable=False)

    op.alter_column("document_contents", "data", nullable=True)
    op.add_column("document_contents", sa.Column("sealed", sa.LargeBinary(), nullable=True))
    op.create_check_constraint(
        op.f("document_contents_clear_or_sealed"), "document_contents", "(data IS NULL) <> (sealed IS NULL)"
    )
    op.create_table(
        "store_keys",
        sa.Column("name", sa.String(length=32), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("store_keys_pkey")),
    )
    op.create_index(op.f("revision_tags_tag_revision_index"), "revision_tags", ["tag", "revision"], unique=False)

    op.drop_constraint(op.f("api_tokens_role_known"), "api_tokens", type_="check")
    op.create_check_constraint(op.f("api_tokens_role_known"), "api_tokens", "role IN ('admin', 'viewer', 'peer')")


def downgrade() -> None:
    raise NotImplementedError("migrations go forward only: restore a backup instead")
