"""What is measured, on which machine, and where it is kept."""
