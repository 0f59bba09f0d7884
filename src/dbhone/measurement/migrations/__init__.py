"""The store's schema, revision by revision; applied when a store is opened."""
