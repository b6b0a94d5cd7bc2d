"""What the gate sends: trials, their messages, their order, and what is left out."""
