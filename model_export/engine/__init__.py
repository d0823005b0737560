"""Tasks on a `concurrent.futures.Executor`, of this machine or of a cluster. Imports the agent's core."""
