"""File formats, one module each: the contract and the list in `base`."""
