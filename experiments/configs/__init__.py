"""One experiment a file, defined as `EXPERIMENT`."""
