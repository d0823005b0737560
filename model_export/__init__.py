"""The trainer that turns co-located recordings into bundles for the edge agent."""
