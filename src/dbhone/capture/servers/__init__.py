"""How a user's own server is asked to log: one file for each protocol."""
