"""The palette, the axes and the page that plots and reports share. Imports the agent's core."""
