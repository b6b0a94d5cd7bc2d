"""Parser configurations and the canonical form their results are compared in."""
