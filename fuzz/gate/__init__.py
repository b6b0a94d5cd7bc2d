"""The release gate: one launch command, real pipes, raw bytes, and a verdict."""
