"""Plug-ins as somebody else would write them: a DBMS with a protocol of its own, and more."""
