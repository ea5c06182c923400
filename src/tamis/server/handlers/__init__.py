"""The operations of the HTTP API, and their table."""
