"""The space-time page: what a log knows, what it does not, and why; one HTML file, or beside a session."""
