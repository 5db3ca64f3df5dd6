"""One variable to columns: kernel features, scores of ranks."""
