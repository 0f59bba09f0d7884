"""The store's past: one file for each change of its tables, never edited once released."""
