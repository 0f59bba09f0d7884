"""A source reference becomes an immutable tree, named by the digest of its content."""
