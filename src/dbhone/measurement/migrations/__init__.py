"""The store's schema, version by version."""
