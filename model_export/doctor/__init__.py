"""What is wrong with a recording. Imports recordings, regression, calibration and figures."""
