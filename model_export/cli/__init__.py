"""The command line: options in, words and files out. Imports everything."""
