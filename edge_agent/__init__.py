"""The daemon that turns raw sensor readings into calibrated estimates at the edge."""
