"""Puts what a log says, statement by statement, into sessions and their transactions.

A log has the statements of all sessions mixed. Only what is open is held: so a log of any length
takes the same memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dbhone.capture.anonymise import Anonymiser
from dbhone.capture.counted import Counted
from dbhone.capture.sql import DEFINITION, LexicalRules, ReplayRule, TransactionEffect
from dbhone.capture.templates import CUT, CountedTemplate, Templates, Value, encoded
from dbhone.workload.workload_file import LONGEST_LINE, StatementKind

_MOST_SESSIONS = 20_000
"""Sessions that are held. Those that are idle then are taken for ended."""
_LONGEST_TRANSACTION = 10_000
_BATCH = 512
"""Statements in a line of the workload file, about."""
_LARGE = 8 << 20
"""Characters in a line of several transactions, about: JSON may write each with twelve bytes."""
_COMMIT = re.compile(r"\s*commit\b", re.IGNORECASE)

UNBEGUN = "ends of transactions whose beginning is not in the log"
OTHER_DATABASE = "statements on other databases"
UNENDED = "statements of transactions whose end is not in the log"
CANCELED = "statements that the server canceled: timeouts, and requests of clients"
TOO_LONG = f"statements of transactions with more than {_LONGEST_TRANSACTION:,}"
TOO_LARGE = f"statements of transactions with values of more than {LONGEST_LINE >> 20} MiB"


@dataclass(slots=True, eq=False)
class _Statement:
    """One execution; ``microseconds`` are None where the log does not have them.

    Its values have ``size`` characters, or fewer.
    """

    template: CountedTemplate
    microseconds: int | None
    values: Sequence[Value]
    size: int = 0
    failed: int = 0
    counted: bool = True
    """Whether the template counts it: what is left out is not counted, whatever comes of it."""

    @property
    def is_over(self) -> bool:
        """Whether the log says how it ended: it failed, or took a time."""
        return bool(self.failed) or self.microseconds is not None


@dataclass(slots=True, eq=False)
class _Session:
    number: int
    opened: list[_Statement] | None = None
    """The statements of the transaction that is open."""
    pending: tuple[int, list[_Statement]] | None = None
    """The last transaction that ended: what the log says next may be about it."""
    began: int = 0
    last: _Statement | None = None
    ahead: int = 0
    """Microseconds that belong to the next statement: its parsing and binding."""
    autocommit: bool = True
    ended_one: bool = False
    """Whether the end of a transaction is in the log: what follows is known from its start."""
    unbegun: bool = False
    """Whether statements came since that end, without the beginning of a transaction."""
    skipping: bool = False


class Sessions:
    """All sessions of a capture. Times are microseconds; ``write`` gets the file's lines.

    ``replaced`` changes values, where they are to be anonymous. Only statements on the ``database``
    are wanted, and those of which the log does not say the database; all are if it is None.
    """

    def __init__(
        self,
        rules: LexicalRules,
        write: Callable[[str], object],
        replaced: Anonymiser | None = None,
        database: str | None = None,
    ) -> None:
        self.rules = rules
        self.counted = Counted()
        self.templates = Templates(rules, replaced)
        self._write = write
        self._database = database
        self._sessions: dict[str, _Session] = {}
        self._batch: list[tuple[int, int, list[_Statement]]] = []
        self._batched = self._size = 0

    # What a log says

    def takes(self, database: str) -> bool:
        """Count a statement on a database; return whether it is wanted.

        The name is empty if the log does not say it.
        """
        if database:
            self.counted.databases[database] += 1
        if self.is_other(database):
            self.counted.left_out[OTHER_DATABASE] += 1
            return False
        return True

    def is_other(self, database: str) -> bool:
        """Return whether statements on a database are not wanted."""
        return bool(database) and self._database not in (None, database)

    def statement(
        self,
        key: str,
        at: int,
        sql: str,
        parameters: Sequence[Value] | None = None,
        duration: int | None = None,
        kind: StatementKind = "text",
    ) -> None:
        """Take a statement of the session ``key``; one that is not text may have parameters."""
        session = self._sessions.get(key) or self._new_session(key)
        template, values = self.templates.of(sql, kind)
        size = len(sql)
        if template.number is None:
            self._skip(session, template.rule)
            return
        if template.parameters and not parameters:
            self.counted.left_out[self.rules.no_values] += 1
            session.last = None
            return
        if parameters:
            parameters = self.templates.parameters(template, parameters)
            values = [*values, *parameters]
            size += sum(len(value or "null") for value in parameters)
        if session.ahead and duration is not None:
            duration, session.ahead = duration + session.ahead, 0
        statement = session.last = _Statement(template, duration, values, size)
        template.executions += 1
        if duration is not None:
            template.microseconds += duration
            self.counted.took(duration)
        self._place(session, at, statement, template.rule.effect)

    def _skip(self, session: _Session, rule: ReplayRule) -> None:
        self.counted.left_out[rule.left_out or CUT] += 1
        session.last = None
        commits = rule.left_out == DEFINITION
        if rule.effect in (TransactionEffect.AUTOCOMMIT_OFF, TransactionEffect.AUTOCOMMIT_ON):
            on = rule.effect is TransactionEffect.AUTOCOMMIT_ON
            commits = on and not session.autocommit
            session.autocommit = on
        if commits and self.rules.commits_implicitly:
            session.skipping = False
            self._end(session, "COMMIT")

    def _end(self, session: _Session, sql: str) -> None:
        """End the transaction that is open by a statement that the log does not have."""
        if session.opened is not None:
            self._place(session, session.began, self._own(sql), TransactionEffect.END)

    def _place(
        self, session: _Session, at: int, statement: _Statement, effect: TransactionEffect
    ) -> None:
        """Put a statement into the transaction to which it belongs."""
        if session.pending is not None:
            self._emit(session)
        if session.opened is None:
            self._place_first(session, at, statement, effect)
            return
        if effect is TransactionEffect.BEGIN:
            session.pending = (session.began, session.opened)
            self._emit(session)
            session.opened, session.began = [statement], at
            return
        session.opened.append(statement)
        if effect is TransactionEffect.END:
            session.ended_one = True
            session.pending, session.opened = (session.began, session.opened), None
        elif len(session.opened) > _LONGEST_TRANSACTION:
            self._leave_out(session.opened, TOO_LONG)
            session.opened, session.skipping = None, True

    def _place_first(
        self, session: _Session, at: int, statement: _Statement, effect: TransactionEffect
    ) -> None:
        """Put a statement that is in no transaction yet."""
        if session.skipping:
            self._leave_out([statement], TOO_LONG)
            session.skipping = effect is not TransactionEffect.END
        elif effect is TransactionEffect.BEGIN:
            session.opened, session.began = [statement], at
            session.unbegun = False
        elif effect is TransactionEffect.END:
            # Without autocommit clients end what they did not begin.
            if session.autocommit:
                self._leave_out([statement], UNBEGUN)
                self._learn_autocommit(session, statement)
            else:
                _uncount([statement])
        elif session.autocommit:
            session.pending = (at, [statement])
            session.unbegun = session.ended_one
        else:
            session.opened, session.began = [self._own("BEGIN"), statement], at

    def _learn_autocommit(self, session: _Session, end: _Statement) -> None:
        """Take an end without a beginning: it may tell that autocommit went off before the log.

        The first end tells nothing, since its beginning may have come before the log. Nor does a
        rollback: pools send one with nothing to undo.
        """
        if session.unbegun and self.rules.commits_implicitly:
            session.autocommit = _COMMIT.match(end.template.pieces[0]) is None
        session.ended_one, session.unbegun = True, False

    def _own(self, sql: str) -> _Statement:
        """Return a statement that the log does not have, but whose effect it had."""
        template, values = self.templates.own(sql)
        template.executions += 1
        return _Statement(template, None, values)

    def failed(self, key: str, at: int, sql: str | None) -> None:
        """Take an error of a session; ``sql`` is its statement, None where the log has none."""
        session = self._sessions.get(key) or self._new_session(key)
        last = self._running(session, sql)
        if last is None and sql is not None:
            self.statement(key, at, sql)
            last = session.last
        if last is not None:
            last.failed = 1
            last.template.errors += last.counted

    def canceled(self, key: str, sql: str | None) -> None:
        """Take that the server ended a statement: a replay would execute it to its end."""
        session = self._sessions.get(key) or self._new_session(key)
        last = self._running(session, sql)
        if last is None:
            self.counted.left_out[CANCELED] += sql is not None
            return
        session.last = None
        if session.opened is not None:
            session.opened.remove(last)
            self._leave_out([last], CANCELED)
        elif session.pending is not None:  # it is alone, or should have committed the others
            self._leave_out(session.pending[1], CANCELED)
            session.pending = None

    def _running(self, session: _Session, sql: str | None) -> _Statement | None:
        """Return the last statement of a session if it may be running: this one, if it is known."""
        last = session.last
        if last is None or last.is_over:
            return None
        return last if sql is None or self.templates.is_of(sql, last.template) else None

    def took(self, key: str, duration: int) -> None:
        """Take how long the last statement of a session took, where the log says it after it."""
        session = self._sessions.get(key)
        last = session.last if session is not None else None
        if session is not None and last is not None and last.microseconds is None:
            last.microseconds = duration + session.ahead
            last.template.microseconds += last.microseconds if last.counted else 0
            self.counted.took(last.microseconds)
            session.ahead = 0

    def prepared(self, key: str, duration: int) -> None:
        """Take how long it took to parse or to bind the next statement of a session."""
        session = self._sessions.get(key) or self._new_session(key)
        session.ahead += duration

    def all_ended(self) -> None:
        """Take the end of all sessions: the server ended."""
        for key in tuple(self._sessions):
            self.ended(key)

    def ended(self, key: str) -> None:
        """Take the end of a session: what it had not committed is undone."""
        session = self._sessions.pop(key, None)
        if session is None:
            return
        self._end(session, "ROLLBACK")
        if session.pending is not None:
            self._emit(session)

    def finish(self) -> None:
        """Write what is held. What is open at the end of the logs is left out."""
        for session in self._sessions.values():
            if session.pending is not None:
                self._emit(session)
            if session.opened is not None:
                self._leave_out(session.opened, UNENDED)
        self._sessions.clear()
        self._flush()

    # Sessions and transactions

    def _new_session(self, key: str) -> _Session:
        if len(self._sessions) >= _MOST_SESSIONS:
            self._forget_idle()
        session = self._sessions[key] = _Session(self.counted.sessions)
        self.counted.sessions += 1
        return session

    def _forget_idle(self) -> None:
        idle = [key for key, session in self._sessions.items() if session.opened is None]
        for key in idle:
            session = self._sessions.pop(key)
            if session.pending is not None:
                self._emit(session)

    def _leave_out(self, statements: Sequence[_Statement], why: str) -> None:
        self.counted.left_out[why] += len(statements)
        _uncount(statements)

    def _emit(self, session: _Session) -> None:
        assert session.pending is not None
        began, statements = session.pending
        session.pending = None
        size = sum(statement.size for statement in statements)
        if self._size + size > _LARGE:
            self._flush()
        self._batch.append((session.number, began, statements))
        self._batched += len(statements)
        self._size += size
        if self._batched >= _BATCH:
            self._flush()

    def _flush(self) -> None:
        if not self._batch:
            return
        lines = [
            (
                session,
                began,
                [(one.template.number, one.microseconds, one.failed, one.values) for one in own],
            )
            for session, began, own in self._batch
        ]
        line = encoded(lines) + "\n"
        is_read = len(line) <= LONGEST_LINE
        for _, began, own in self._batch:
            if is_read:
                self.counted.add(began, len(own))
            else:  # then it is one transaction only
                self._leave_out(own, TOO_LARGE)
        if is_read:
            self._write(line)
        self._batch, self._batched, self._size = [], 0, 0


def _uncount(statements: Sequence[_Statement]) -> None:
    """Take back what the templates of statements count of them."""
    for statement in statements:
        statement.counted = False
        template = statement.template
        template.executions -= 1
        template.errors -= statement.failed
        template.microseconds -= statement.microseconds or 0
