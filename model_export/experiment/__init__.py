"""The paper's evaluation. Imports everything but the simulator, the doctor and the command line."""
