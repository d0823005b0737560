"""Simulated weather, air, sensors and vans. Imports the agent's core and files."""
