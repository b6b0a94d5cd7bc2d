"""The life of a finding: from a campaign, through minimizing, to a regression test."""
