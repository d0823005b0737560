"""Archives in Parquet to estimates, all windows at once. Imports the core, engine, files and figures."""
