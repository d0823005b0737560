"""Pure: told the time, no files, no network, no logging. Imports core, numpy and msgpack."""
