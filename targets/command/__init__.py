"""Launch commands as targets: real processes, raw pipes."""
