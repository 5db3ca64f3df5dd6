"""File formats, one module each: the contract in `base`, the list in `supported`."""
