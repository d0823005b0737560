"""A dataset in, a bundle and its report out. Imports recordings, regression and figures."""
