"""One module for each command; ``wirefence.fuzz.cli`` imports the one that is called."""
