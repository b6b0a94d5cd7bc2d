"""Effect recorders: what a process did, seen from outside."""
