"""DCD, RobustDCD, MarkovBoundary, stability: thin classes over the folders above."""
