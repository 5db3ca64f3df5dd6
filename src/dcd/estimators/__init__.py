"""DCD, RobustDCD, MarkovBoundary, stability and effects: thin layers over the packages of algorithms."""
