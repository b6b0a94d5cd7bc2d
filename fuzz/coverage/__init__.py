"""Coverage-guided fuzzing: libFuzzer, through atheris, over the same oracles and the same store.

The key insight: the corpus is raw wire bytes and nothing else, so what a target finds is a case as
it stands, and any file that was ever sent over a wire is a seed.
"""
