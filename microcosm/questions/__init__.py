"""Questions about a whole log: read, evaluated with three values, shown with witnesses and proofs."""
