"""Shrink an input while it keeps what it shows."""
