"""Wirefence: property-based fuzzing and differential testing for JSON-RPC over stdio.

The four packages lie at the top of the repository and are linked here, so that an installation has
one top-level package. Imports go leftwards along ``strategies, targets, oracles, fuzz``.
"""
