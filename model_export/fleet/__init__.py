"""All sensors of a manifest, one task each. Imports all but cli, experiment, archive and simulator."""
