"""Use cases on stragglers: work that goes on after its action stopped waiting."""
