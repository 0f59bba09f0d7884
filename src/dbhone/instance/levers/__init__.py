"""Drawer: what can be done to a server when it is started. To add a lever, add one file here."""
