"""The inputs of a comparison: where they come from, their order, and which are skipped."""
