"""A fork of MySQL: one file says in what it differs."""

from __future__ import annotations

from dbhone.dbms.mysql import Mysql


class Acme(Mysql):
    """A MySQL that calls itself otherwise."""

    name = "acme"
    title = "Acme Server"
    programs = ("acmed",)


PLUGIN = Acme()
