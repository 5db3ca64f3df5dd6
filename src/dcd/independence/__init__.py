"""x, y and a set to a p-value: a test as a strategy, bound to one table."""
