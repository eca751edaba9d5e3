"""The REST API: `http` is common to every dialect, each other folder is one dialect."""
