"""What the gate sends: trials, their messages, their order, and what was skipped."""
