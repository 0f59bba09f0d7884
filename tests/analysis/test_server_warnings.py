"""What a run of servers gives a reader to doubt."""

from dbhone.analysis.comparison import analyse
from dbhone.analysis.warnings import find_warnings
from dbhone.measurement.record import Run, Warning
from tests.report.sample_servers import Shape, a_server_run, a_sweep_run, server_samples


def _doubts(run: Run, shape: Shape) -> dict[str, Warning]:
    samples = server_samples(run, shape)
    analysis = analyse(
        samples,
        base="rel",
        steps=run.steps,
    )
    return {each.code: each for each in find_warnings(run, samples, analysis)}


def test_refused_transactions_are_counted_for_each_subject() -> None:
    found = _doubts(a_server_run(), Shape(blocks=6, refused=1.0))["driver-errors"]
    assert found.subject == "lto"
    assert found.text.startswith("lto's server refused 192 transactions in 192 measurements (")


def test_without_errors_there_is_no_doubt() -> None:
    assert "driver-errors" not in _doubts(a_server_run(), Shape(blocks=6))


def test_client_that_takes_much_of_a_busy_machine_is_told() -> None:
    found = _doubts(a_sweep_run(), Shape(blocks=6, client_cpu=2.5e-4))["client-heavy"]
    assert "point-query_range=100@64" in found.text
    assert "read-write_range=100" not in found.text
    assert "point-query_range=100@1 " not in found.text


def test_light_client_is_not_told() -> None:
    assert "client-heavy" not in _doubts(a_sweep_run(), Shape(blocks=6, client_cpu=1e-6))
