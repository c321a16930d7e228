"""The space-time page: what a log knows, what it does not, and why, as one HTML file or served beside a session."""
