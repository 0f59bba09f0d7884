"""What the commands share whose exit code says whether the candidate is slower."""

from __future__ import annotations

from dbhone.cli.bisecting import BisectCode
from dbhone.cli.context import Context
from dbhone.measurement.record import Role
from dbhone.report.page import Page
from dbhone.report.run_answer import Answer, RunAnswer, run_answer


def answer(context: Context, page: Page, tolerance: float | None, *, bisects: bool = False) -> int:
    """Say in a sentence whether the candidate is slower, and return the exit code for it.

    Of a run that ``bisects`` it is the code that ``git bisect run`` reads.
    """
    result = run_answer(page, tolerance=tolerance)
    code = _bisect_code(result) if bisects else result.answer
    context.insist(f"exit code {code.value}: {result.sentence}")
    return code.value


def _bisect_code(found: RunAnswer) -> BisectCode:
    """Return the code for an answer: a commit that broke is skipped; where A broke, git ends."""
    match found.answer:
        case Answer.NOT_SLOWER:
            return BisectCode.GOOD
        case Answer.SLOWER:
            return BisectCode.BAD
        case Answer.BROKEN if found.broken is not Role.CANDIDATE:
            return BisectCode.ABORT
        case _:
            return BisectCode.SKIP
