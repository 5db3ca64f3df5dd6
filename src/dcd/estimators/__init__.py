"""DCD, RobustDCD, MarkovBoundary, stability, effects: thin classes over the folders above."""
