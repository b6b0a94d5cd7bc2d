"""The gate for clients: a hostile server, and a judge of what the client does."""
