"""Features to sample weights."""
