"""From what a server logged to a workload file."""
