"""The reports of a comparison: their content, and each format."""
