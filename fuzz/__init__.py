"""Drivers, campaigns and the command line: the rightmost package, which joins all others."""
