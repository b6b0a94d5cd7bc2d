"""Findings and reproducers on disk: written atomically, scanned, with secrets removed."""
