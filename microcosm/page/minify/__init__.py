"""The scripts of a page made shorter: tokens, which names are one variable, and what may go."""
