"""Which settings a server knows, and what they are unless they are set: it is asked itself."""

from __future__ import annotations

from collections.abc import Mapping

from dbhone.dbms.base_server import Installation, InstanceDir, ServerDbms
from dbhone.errors import ServerError
from dbhone.instance.account import check_reachable, server_account
from dbhone.instance.programs import run_program

_QUERY_TIMEOUT = 60.0
_asked: dict[Installation, dict[str, str]] = {}


def known_settings(
    dbms: ServerDbms, installation: Installation, place: InstanceDir
) -> Mapping[str, str]:
    """Return all settings that this server knows, with their defaults; it is asked once.

    Raises ServerError if it does not answer.
    """
    known = _asked.get(installation)
    if known is None:
        known = _asked[installation] = _ask(dbms, installation, place)
    return known


def _ask(dbms: ServerDbms, installation: Installation, place: InstanceDir) -> dict[str, str]:
    account = server_account()
    check_reachable(installation.server.parent, account)
    answers = []
    for program in dbms.settings_queries(installation, place):
        finished = run_program(program, place, account, timeout=_QUERY_TIMEOUT)
        known = dbms.known_settings(finished.text())
        # A server without a cache of its own was misread, and what it lacks must not be left out.
        if dbms.cache_setting in known:
            return known
        answers.append(finished)
    lines = answers[0].text().strip().splitlines()
    said = lines[-1].strip() if lines else "nothing"
    raise ServerError(
        f"{installation.server} {answers[0].ending()} when asked for its settings, and said: {said}"
    )
