"""One module for each command; ``wirefence.fuzz.cli`` loads the one that is called."""
