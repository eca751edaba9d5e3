"""Which faults of the real Deckhand this one has: each can be switched, so that a test can name the one it means."""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Behaviour:
    """The default renders correctly and otherwise behaves as the real one does, faults included.

    ``delete_by_value``: a delete takes out the first value that equals the one at its path. ``shared_objects``: a
    substituted object stays the same object in its source. ``guessing_rollback``: a rollback takes the oldest
    contents of what the target did not write. ``piling_tags``: a tag set twice is two tags. ``blind_to_owners``:
    conflicts are looked for only among what the newest revision wrote. ``one_cache``: clear and redacted readings of
    a revision share one rendering. ``racing_writers``: two writers at once do not wait for each other.
    ``crossing_validations``: a summary of validations sees results of other revisions.
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
        """Return the same with both defects of the real rendering."""
        return replace(self, delete_by_value=True, shared_objects=True)

    def well_behaved(self) -> "Behaviour":
        """Return the same without the faults of the service around the rendering."""
        return replace(
            self,
            guessing_rollback=False,
            piling_tags=False,
            blind_to_owners=False,
            one_cache=False,
            racing_writers=False,
            crossing_validations=False,
        )
