"""What a run of servers gives a reader to doubt."""

import re
from dataclasses import replace

import numpy as np

from dbhone.analysis.comparison import analyse
from dbhone.analysis.trust import TrustGrade, trust
from dbhone.analysis.warnings import find_warnings, refused
from dbhone.measurement.record import Role, Run, Warning
from tests.report.sample_servers import Shape, a_server_run, a_sweep_run, server_samples


def _doubts(run: Run, shape: Shape) -> dict[str, Warning]:
    samples = server_samples(run, shape)
    analysis = analyse(
        samples,
        base="rel",
        steps=run.steps,
    )
    return {each.code: each for each in find_warnings(run, samples, analysis)}


def test_a_subject_that_was_not_measured_refused_nothing_and_did_no_other_work() -> None:
    run = a_server_run()
    samples = server_samples(run, Shape(refused=0.02))
    values = samples.values.copy()
    values[samples.subjects.index("lto+pgo")] = np.nan
    # The base refuses as much as the one that does.
    values[0] = values[samples.subjects.index("lto")]
    found = list(refused(run, replace(samples, values=values)))
    assert found
    assert "lto+pgo" not in {each.subject for each in found}


def test_a_share_of_refused_transactions_is_told_for_each_subject() -> None:
    found = _doubts(a_server_run(), Shape(refused=0.02))
    assert found["refused-transactions"].subject == "lto"
    said = "lto's server refused up to 0.4 % of the transactions of 7 steps ("
    assert found["refused-transactions"].text.startswith(said)
    assert "many-refused" not in found


def test_shares_of_refused_transactions_are_told_together() -> None:
    run = a_server_run()
    samples = server_samples(run, Shape(refused=0.02))
    values = samples.values.copy()
    values[0] = values[samples.subjects.index("lto")]
    (found,) = refused(run, replace(samples, values=values))
    assert (found.code, found.subject) == ("refused-transactions", None)
    first = samples.subjects[0]
    said = rf"\), up to 0\.4 % of {first}'s, up to 0\.4 % of lto's: the figures include"
    assert found.text.startswith("servers refused transactions of 7 steps (")
    assert re.search(said, found.text)


def test_a_subject_that_refuses_more_than_the_base_is_not_to_be_trusted_alike() -> None:
    samples = server_samples(run := a_server_run(), Shape(refused=1.0))
    analysis = analyse(samples, base="rel", steps=run.steps, controls=run.controls)
    warnings = find_warnings(run, samples, analysis)
    assert "many-refused" in {each.code for each in warnings}
    found = trust(run, analysis, warnings, history=False)
    assert found.grade is TrustGrade.LIMITED
    assert "transactions were refused, by lto" in found.reason


def test_a_subject_that_refuses_nothing_where_the_base_does_did_other_work() -> None:
    roles = {"lto": Role.BASE, "rel": Role.CANDIDATE}
    run = a_server_run()
    swapped = tuple(replace(one, role=roles.get(one.name, one.role)) for one in run.subjects)
    run = replace(run, subjects=swapped)
    samples = server_samples(run, Shape(refused=1.0))
    analysis = analyse(samples, base="lto", steps=run.steps)
    found = [each for each in find_warnings(run, samples, analysis) if each.subject == "rel"]
    assert "many-refused" in {each.code for each in found}
    assert any("refused no transaction, and lto's up to 2 %" in each.text for each in found)


def test_a_subject_that_failed_in_some_blocks_is_trusted_less_even_if_it_wins() -> None:
    failed = Warning(code="failed-invocations", text="lto failed on a step", subject="lto")
    samples = server_samples(run := replace(a_server_run(), warnings=(failed,)), Shape())
    analysis = analyse(samples, base="rel", steps=run.steps, controls=run.controls)
    found = trust(run, analysis, find_warnings(run, samples, analysis), history=False)
    assert found.grade is TrustGrade.LIMITED
    assert "lto failed in some blocks" in found.reason


def test_where_nothing_is_refused_there_is_no_doubt() -> None:
    found = _doubts(a_server_run(), Shape(blocks=6))
    assert not {"refused-transactions", "many-refused"} & found.keys()


def test_client_that_takes_much_of_a_busy_machine_is_told() -> None:
    found = _doubts(a_sweep_run(), Shape(blocks=6, client_cpu=2.5e-4))["client-heavy"]
    assert "point-query_range=100@64" in found.text
    assert "read-write_range=100" not in found.text
    assert "point-query_range=100@1 " not in found.text


def test_a_busy_client_is_told_of_whole_steps() -> None:
    run = a_sweep_run()
    steps = (*run.steps[:-1], replace(run.steps[0], key="part"))
    of = server_samples(run, Shape(blocks=6, client_cpu=2.5e-4))
    of = replace(of, steps=tuple(step.name for step in steps))
    analysis = analyse(of, base="rel", steps=steps)
    found = find_warnings(replace(run, steps=steps), of, analysis)
    (told,) = (each for each in found if each.code == "client-heavy")
    assert f" of {len(steps) - 1} steps " in told.text


def test_light_client_is_not_told() -> None:
    assert "client-heavy" not in _doubts(a_sweep_run(), Shape(blocks=6, client_cpu=1e-6))
