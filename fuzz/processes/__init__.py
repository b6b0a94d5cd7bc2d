"""Processes of our own: children, signals, hang detection, standard streams, memory."""
