"""A Postgres server that this process starts and stops, from the binaries of a wheel."""
