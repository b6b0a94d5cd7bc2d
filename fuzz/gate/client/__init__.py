"""The gate for clients: a hostile server, and what a client makes of it."""
