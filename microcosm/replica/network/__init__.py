"""The network of a replica: causal delivery exactly once over UDP, sealed, across restarts and evictions."""
