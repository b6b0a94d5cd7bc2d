"""Examine one case with judge, parsers and gateways; and generate cases."""
