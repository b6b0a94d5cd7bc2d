"""Processes of our own: children, supervision, hang detection, signals, streams, memory."""
