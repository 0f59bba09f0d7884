"""How long operations took, as the program hyperfine exports its results."""

from __future__ import annotations

import json
from typing import Any

from dbhone.report.figures import Timing, timings
from dbhone.report.formats.base import Format
from dbhone.report.page import Page


class Hyperfine(Format):
    """hyperfine's ``--export-json``: a result for each subject and step, a time for each block.

    Times are seconds for one operation. Kernel time is known of servers only: of an embedded DBMS
    all CPU time is in ``user``. What is not known is 0, since readers that know hyperfine's types
    reject null there. A slice that failed has no time, so each exit code is 0.
    """

    name = "hyperfine"
    suffix = ".hyperfine.json"

    def render(self, page: Page) -> bytes:
        """Return the object, indented; ``results`` is empty if nothing was measured."""
        report = {"results": [_result(timing) for timing in timings(page)]}
        text = json.dumps(report, indent=1, ensure_ascii=False, allow_nan=False)
        return f"{text}\n".encode("utf-8", "replace")


def _result(timing: Timing) -> dict[str, Any]:
    parameters = {"step": timing.step.name, "subject": timing.subject.name}
    if timing.step.threads is not None:
        parameters["threads"] = str(timing.step.threads)
    memory = {"memory_usage_byte": [round(size) for size in timing.memory]} if timing.memory else {}
    return {
        "command": f"{timing.step.name} on {timing.subject.name}",
        "mean": timing.mean,
        "stddev": timing.standard_deviation,
        "median": timing.median,
        "user": timing.user,
        "system": timing.system,
        "min": min(timing.seconds),
        "max": max(timing.seconds),
        "times": list(timing.seconds),
        **memory,
        "exit_codes": [0] * len(timing.seconds),
        "parameters": parameters,
    }


PLUGIN = Hyperfine()
