"""Two variables and a set to a p-value."""
