"""The defects of the real Deckhand that this one has. Each has a switch, so a test can name the one it means."""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Behaviour:
    """Which defects of the real Deckhand this one has. The default renders correctly and has all the others.

    ``delete_by_value``: a delete removes the first value that equals the one at its path. ``shared_objects``: a
    substituted object stays the same object in its source. ``guessing_rollback``: a rollback takes the oldest contents
    of buckets that the target did not write. ``piling_tags``: a tag set twice is two tags. ``blind_to_owners``: only
    the newest revision's own documents are checked for conflicts. ``one_cache``: clear and redacted readings of a
    revision share one rendering. ``racing_writers``: two concurrent writers do not wait for each other.
    ``crossing_validations``: a summary of validations counts results of other revisions.
    """

    delete_by_value: bool = False
    shared_objects: bool = False
    guessing_rollback: bool = True
    piling_tags: bool = True
    blind_to_owners: bool = True
    one_cache: bool = True
    racing_writers: bool = True
    crossing_validations: bool = True

    def with_defects(self) -> "Behaviour":
        """Return a copy with both defects of the real rendering."""
        return replace(self, delete_by_value=True, shared_objects=True)

    def well_behaved(self) -> "Behaviour":
        """Return a copy without the defects of the service around the rendering."""
        return replace(
            self,
            guessing_rollback=False,
            piling_tags=False,
            blind_to_owners=False,
            one_cache=False,
            racing_writers=False,
            crossing_validations=False,
        )
