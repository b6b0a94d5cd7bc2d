"""Coverage-guided fuzzing: libFuzzer, through atheris, with the same oracles and the same store.

The corpus is raw bytes as sent. So a finding of a target is a case, and any recorded traffic is a
seed.
"""
