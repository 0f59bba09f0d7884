"""Fetches sources as users do, and expects refusals that leave nothing behind."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dbhone.errors import HoneError
from dbhone.session import Session
from dbhone.source.tree import SourceTree, acquire


def get(
    session: Session,
    text: str,
    notify: Callable[[str], None] = lambda line: None,
    *,
    refresh: bool = False,
) -> SourceTree:
    """Return the tree of a reference."""
    return acquire(text, session, refresh=refresh, notify=notify)


def refused(session: Session, text: str) -> HoneError:
    """Return the error that a reference gives; no tree may be left of it."""
    with pytest.raises(HoneError) as caught:
        get(session, text)
    assert not list(session.home.sources.glob("*/tree"))
    return caught.value
