"""A van on your desk; the tests start their brokers and programs the same way."""
