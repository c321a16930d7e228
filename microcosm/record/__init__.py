"""Records a running program: which events it had, in which order, and which message went with which."""
