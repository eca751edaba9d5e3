"""An index finds the revisions that have a document, so that documents of deleted revisions can go.

Building it takes about a second per million documents of revisions; commits and loads of documents wait meanwhile.
"""

from alembic import op

revision = "0027"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index(op.f("revision_documents_hash_index"), "revision_documents", ["hash"])


def downgrade() -> None:
    raise NotImplementedError("migrations go forward only: restore a backup instead")
