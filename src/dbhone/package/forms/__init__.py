"""The drawer of forms: one file for each."""
