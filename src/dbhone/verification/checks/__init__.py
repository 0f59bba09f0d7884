"""The drawer of checks: one file for each."""
