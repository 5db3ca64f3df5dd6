"""The evaluation: methods and controls on the same tables, in accuracy and processor time.

- `cells`: the settings, simulated and published networks;
- `methods`: the methods, all from `dcd.baselines`;
- `running`: a row for each cell, method and seed;
- `tables`: from rows to Markdown;
- `speed`: ratios of processor time.
"""
