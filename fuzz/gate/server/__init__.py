"""How the gate runs a server: discovery, fresh and pipelined sessions, start and end."""
