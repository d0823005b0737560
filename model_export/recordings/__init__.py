"""Files in, windows out. Imports the agent's core and regression."""
