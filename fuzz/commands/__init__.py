"""One module for each command; ``fuzz.cli`` loads the one that is called."""
