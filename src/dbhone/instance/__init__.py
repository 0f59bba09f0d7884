"""Where a subject keeps its data while it runs."""
