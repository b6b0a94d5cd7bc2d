"""Sanitizer-instrumented copies of parsers written in C, for the coverage-guided fuzzer.

Atheris sees Python only, so a scanner in C is one opaque call to it. A copy built
with clang's coverage hooks shows its edges, provided that atheris's runtime is preloaded and that
the copy, not the installed library, is what loads. Both are arranged by an environment and checked
inside the fuzzing process, since each of them fails silently.
"""
