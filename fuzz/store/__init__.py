"""Findings and reproducers on disk: written whole, scanned, with secrets removed."""
