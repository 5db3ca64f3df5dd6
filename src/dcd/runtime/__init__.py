"""Infrastructure without statistics: errors, memory, parallel work, files, progress, checkpoints."""

from dcd.runtime import errors

__all__ = ["errors"]
