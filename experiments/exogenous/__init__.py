"""How often a method draws an arrow into a column that cannot be an effect."""
