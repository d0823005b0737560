"""Checks that find faults in a recording. Imports recordings, regression, calibration and figures."""
