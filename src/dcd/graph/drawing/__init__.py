"""Pictures of graphs: one layout, one SVG renderer for reports and notebooks, and matplotlib."""
