"""A real Debian with systemd in an emulator: what the documents promise, and power cuts. See `make field`."""
