"""The judge and the oracles: pure functions from what was sent and seen to findings."""
