"""Features of variables: kernel features, rank scores, and the Gram matrices of a table."""
