"""Arrays in, arrays out: kernels, solvers, tuning, compression. Imports the agent's core."""
