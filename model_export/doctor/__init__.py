"""The doctor for sensors: what is wrong with a recording, how sure that is, and what to do about it."""
