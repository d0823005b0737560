"""Files in, 15-minute windows out. Imports the agent's core and regression."""
