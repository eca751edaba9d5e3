"""A simulated Promenade, with or without the teardown API that no released one has."""
