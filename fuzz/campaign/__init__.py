"""Campaigns: workers that examine cases, and reports of what they found."""
