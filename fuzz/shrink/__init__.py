"""Make an input smaller while it keeps what it shows."""
