"""Weather, air, sensors and vans that do not exist. Imports the agent's core."""
