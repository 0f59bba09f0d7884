"""The drawer of catalogues: one file for each protocol."""
