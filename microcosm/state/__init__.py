"""`Microcosm`, and how it changes and is read."""
