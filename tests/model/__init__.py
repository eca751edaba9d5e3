"""A model of the engine's protocol: its real functions, in a small world that does everything in every order."""
