"""The evaluation: methods and controls on the same tables, in accuracy and processor time.

- `cells`: the settings, simulated and published networks;
- `methods`: what runs on them, all of it in `dcd.baselines`;
- `running`: a row for each cell, method and seed;
- `tables`: from rows to Markdown;
- `speed`: ratios of processor time.
"""
