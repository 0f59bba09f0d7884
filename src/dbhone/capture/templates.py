"""Tells of which templates the statements of a log are, and counts the executions of each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from dbhone.capture.anonymise import Anonymiser
from dbhone.capture.sql import (
    LexicalRules,
    ReplayRule,
    TransactionEffect,
    has_parameters,
    is_whole,
    replay_rule,
    sets_autocommit,
    split,
)
from dbhone.workload.workload_file import LONGEST_HEADER, StatementKind, Template

_MOST = 20_000
_MOST_WHOLE = 4096
"""Statements without literals whose template is remembered."""
_MOST_BYTES = LONGEST_HEADER // 2
"""Of all templates together in the file's header."""

CUT = "statements that are cut off in the log"

encoded = json.JSONEncoder(separators=(",", ":")).encode
"""Returns the JSON that the workload file has."""
Value = str | None


@dataclass(slots=True, kw_only=True, eq=False)
class CountedTemplate:
    """A template while statements of it are counted. Without a number it is left out."""

    pieces: tuple[str, ...]
    kind: StatementKind
    number: int | None
    parameters: bool
    rule: ReplayRule
    executions: int = 0
    microseconds: int = 0
    errors: int = 0

    def counted(self) -> Template:
        """Return the template with what was counted."""
        return Template(
            pieces=self.pieces,
            kind=self.kind,
            executions=self.executions,
            microseconds=self.microseconds,
            errors=self.errors,
            inexact=self.rule.inexact,
        )


class Templates:
    """All templates of a capture. ``replaced`` changes values, where they are to be anonymous."""

    def __init__(self, rules: LexicalRules, replaced: Anonymiser | None = None) -> None:
        self._rules = rules
        self._replaced = replaced
        self._known: dict[str, CountedTemplate] = {}
        self._common: dict[tuple[ReplayRule, StatementKind], CountedTemplate] = {}
        self._numbered: list[CountedTemplate] = []
        self._whole: dict[StatementKind, dict[str, CountedTemplate]] = {
            "text": {},
            "bound": {},
            "named": {},
        }
        self._bytes = 0

    def replayed(self) -> tuple[Template, ...]:
        """Return all templates that are replayed, by their number."""
        return tuple(template.counted() for template in self._numbered)

    def of(self, sql: str, kind: StatementKind) -> tuple[CountedTemplate, Sequence[Value]]:
        """Return the template of a statement, and the statement's literals."""
        template = self._whole[kind].get(sql)
        if template is not None:
            return template, ()
        parts = split(sql, self._rules)
        pieces, literals = tuple(parts[::2]), parts[1::2]
        template = self._template(pieces, kind=kind, values=literals, sql=sql)
        if template.pieces not in (pieces, ()):  # there was no room for its own
            return template, [self._anonymous_text(parts)]
        if self._replaced is not None:
            return template, self._replaced.literals(pieces, literals)
        return template, literals

    def own(self, sql: str) -> tuple[CountedTemplate, Sequence[Value]]:
        """Return the same of a statement without literals that the log does not have."""
        template = self._template((sql,), kind="text", values=(), sql=sql)
        return template, () if template.pieces == (sql,) else (sql,)

    def parameters(self, template: CountedTemplate, values: Sequence[Value]) -> Sequence[Value]:
        """Return the parameters of a statement as they are kept."""
        return self._replaced.parameters(template.pieces, values) if self._replaced else values

    def is_of(self, sql: str, template: CountedTemplate) -> bool:
        """Return whether a statement is one of a template's."""
        return tuple(split(sql, self._rules)[::2]) == template.pieces

    def _anonymous_text(self, parts: Sequence[str]) -> str:
        if self._replaced is None:
            return "".join(parts)
        pieces = parts[::2]
        literals = [*self._replaced.literals(tuple(pieces), parts[1::2]), ""]
        return "".join(part for pair in zip(pieces, literals, strict=True) for part in pair)

    def _template(
        self, pieces: tuple[str, ...], *, kind: StatementKind, values: Sequence[str], sql: str
    ) -> CountedTemplate:
        of_value = "\0".join(values) if sets_autocommit(pieces) else ""
        name = "\0".join(pieces) + f"\0\0{kind}{of_value}"
        known = self._known.get(name)
        if known is not None:
            return known
        if is_whole(pieces, self._rules):
            rule = replay_rule(pieces, tuple(values), self._rules)
        else:
            rule, pieces, name = ReplayRule(TransactionEffect.PLAIN, CUT), (), "\0cut"
        written = len(encoded(pieces))
        has_room = self._bytes + written <= _MOST_BYTES
        if len(self._known) >= _MOST or not has_room:
            return self._common_template(rule, kind=kind)
        self._bytes += written
        template = self._known[name] = self._new_template(pieces, rule, kind=kind)
        if not values and len(self._whole[kind]) < _MOST_WHOLE and pieces:
            self._whole[kind][sql] = template
        return template

    def _new_template(
        self, pieces: tuple[str, ...], rule: ReplayRule, *, kind: StatementKind
    ) -> CountedTemplate:
        number = None if rule.left_out else len(self._numbered)
        template = CountedTemplate(
            pieces=pieces,
            kind=kind,
            number=number,
            parameters=has_parameters(pieces, self._rules),
            rule=rule,
        )
        if number is not None:
            self._numbered.append(template)
        return template

    def _common_template(self, rule: ReplayRule, *, kind: StatementKind) -> CountedTemplate:
        """Return the template of all statements of this kind for whose own there is no room.

        Its only literal is the whole statement.
        """
        of = (rule, kind)
        if of not in self._common:
            self._common[of] = self._new_template(("", ""), rule, kind=kind)
        return self._common[of]
