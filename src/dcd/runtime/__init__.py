"""No statistics: errors, array types, memory, parallel work, threads, files, progress, checkpoints."""
