"""A microcosm inside a running process: kept durably, exchanged with other replicas, over a real network."""
