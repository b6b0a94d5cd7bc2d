"""One case through judge, parsers and gateways, and where cases come from."""
