"""Puts generated queries to a base and to a candidate, and keeps what they answered.

The base makes the queries, with a seed, and answers them twice, on two servers. What it answers
differently is left out of the comparison, and so is what took too long.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from dbhone import process
from dbhone.command import Command
from dbhone.compilation.manifest import Build
from dbhone.errors import DriverError, ServerError
from dbhone.files import digest_of
from dbhone.instance.client import Client, RejectedQueryError, connect
from dbhone.instance.server import Server
from dbhone.sandbox import Sandbox
from dbhone.verification.checks.base import GeneratedQueries, TestList
from dbhone.verification.harness import TestHarness, running
from dbhone.verification.outcome import (
    SERVER,
    ListResult,
    Status,
    TestResult,
    compare,
    worse_of,
    worse_of_base,
)
from dbhone.verification.outcome_store import OutcomeStore

_FORMAT = 3
_SEED = 20261124
_COUNT = 1000
_TIMEOUT = 300.0
_DYING = 2.0
"""Seconds that a server's processes are given to end once its client has lost it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Queries:
    """The generated queries of a base, with its answers."""

    texts: tuple[str, ...]
    base: ListResult


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryRun:
    """One list of generated queries. ``again`` asks for new answers, not those that are kept."""

    check: GeneratedQueries
    list: TestList
    harness: TestHarness
    again: bool = False

    def of_base(self, base: Build) -> Queries:
        """Return the queries that a base makes, and its answers."""
        outcomes = OutcomeStore(self.harness.session.home, base)
        parts = [
            _FORMAT,
            self.check.schema,
            _SEED,
            _COUNT,
            sorted(self.check.server_settings.items()),
        ]
        name = f"{self.check.name}-made-{digest_of(parts)[:12]}"
        known = None if self.again else outcomes.find(name)
        if known is not None:
            texts = json.loads(outcomes.log(name).read_text(encoding="utf-8"))
            return Queries(texts=tuple(texts), base=known)
        with self.harness.exclusive():
            queries = self._make(base)
        outcomes.keep(name, queries.base, json.dumps(queries.texts, indent=1).encode())
        return queries

    def of_candidate(self, candidate: Build, queries: Queries) -> ListResult:
        """Return a candidate's answers to a base's queries."""
        outcomes = OutcomeStore(self.harness.session.home, candidate)
        answers = [[test.name, test.status, test.answer] for test in queries.base.tests]
        name = f"{self.check.name}-answered-{digest_of([_FORMAT, queries.texts, answers])[:12]}"
        known = None if self.again else outcomes.find(name)
        if known is None:
            with self.harness.exclusive():
                known = self._answers_twice(candidate, queries)
            outcomes.keep(name, known, b"")
        return known

    def _answers_twice(self, candidate: Build, queries: Queries) -> ListResult:
        """Return a candidate's answers; where they differ from the base's, it is asked again."""
        first = self._answers(candidate, queries.texts)
        if not compare(queries.base, first).failures:
            return first
        return worse_of(queries.base, first, self._answers(candidate, queries.texts))

    def _make(self, base: Build) -> Queries:
        self.harness.notify("generating queries")
        with running(base, self.harness.session, self.check.server_settings) as server:
            self._prepare(server).close()
            texts = self._generate(server)
        first, second = (self._answers(base, texts) for _ in range(2))
        return Queries(texts=texts, base=worse_of_base(first, second))

    def _generate(self, server: Server) -> tuple[str, ...]:
        finished = process.run(
            Command(
                argv=self.check.generator(server.endpoint, _SEED, _COUNT),
                cwd=Path("/"),
                env={"LC_ALL": "C"},
                isolated=True,
                timeout=_TIMEOUT,
                tenant=server.place.tenant,
                sandbox=Sandbox(readable=(server.endpoint.socket.parent,)),
            )
        )
        texts = self.check.queries(finished.text())
        if not finished.ok or not texts:
            ending = "made no queries" if finished.ok else finished.ending()
            said = finished.text().strip().splitlines()[-1:]
            raise DriverError(f"{self.check.name} {ending}: {' '.join(said)[:200]}")
        return texts

    def _prepare(self, server: Server) -> Client:
        client = connect(server.endpoint)
        for statement in self.check.schema.split(";"):
            client.tell(statement)
        return client

    def _answers(self, build: Build, texts: tuple[str, ...]) -> ListResult:
        began = time.monotonic()
        self.harness.notify(f"asking {len(texts)} generated queries")
        results: list[TestResult] = []
        crash = ""
        try:
            with running(build, self.harness.session, self.check.server_settings) as server:
                client = self._prepare(server)
                results.extend(self._ask(client, server, texts))
                client.close()
        except ServerError as error:
            if not results:
                raise
            crash = error.text_with_log
        status = Status.FAILED if crash else Status.PASSED
        results.append(TestResult(name=SERVER, status=status, difference=crash))
        return ListResult(
            check=self.check.name,
            list=self.list.name,
            build=build.digest,
            evidence=self.check.evidence,
            tests=tuple(results),
            seconds=time.monotonic() - began,
            finished_at=datetime.now(UTC),
        )

    def _ask(self, client: Client, server: Server, texts: tuple[str, ...]) -> Iterator[TestResult]:
        """Yield the answer to each query. Raises ServerError when the server is gone."""
        for number, text in enumerate(texts, start=1):
            name = f"query {number}"
            try:
                rows, digest = client.ask(self.check.digesting(text))[0]
            except RejectedQueryError as error:
                server.check()
                # It is kept, and compared with what later versions of hone are answered.
                words = error.words
                undecided = self.check.undecided.search(words) is not None
                yield TestResult(
                    name=name,
                    status=Status.UNDECIDED if undecided else Status.PASSED,
                    answer=words[:200],
                    difference=f"{words}\n{text}",
                )
            except ServerError:
                server.check(wait=_DYING)
                raise
            else:
                answer = f"{rows} rows, {digest}"
                difference = f"{answer}\n{text}"
                yield TestResult(
                    name=name, status=Status.PASSED, answer=answer, difference=difference
                )
