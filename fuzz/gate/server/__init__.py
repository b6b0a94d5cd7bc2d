"""Drive a server: start it, send trials, match replies, judge what was observed."""
