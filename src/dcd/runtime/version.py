"""The version, in a module of its own so that every folder can read it."""

__version__ = "0.2.0"
