"""Campaigns: worker processes that examine cases, and reports of their findings."""
