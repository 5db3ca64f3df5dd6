"""No statistics: errors, array types, memory, parallel work, threads, files, progress, checkpoints."""

from dcd.runtime import errors

__all__ = ["errors"]
