from __future__ import annotations

from dbhone.experiment.execution.expected_answers import ExpectedAnswers
from dbhone.experiment.target.target import Answers

FIRST = {"rows": "1", "time": "10:00", "sum": "7"}
LATER = {"rows": "1", "time": "10:05", "sum": "7"}


class Base:
    """A base that is asked again, and counts how often."""

    def __init__(self, *answers: Answers) -> None:
        self.answers = list(answers)
        self.asked = 0

    def __call__(self) -> Answers:
        self.asked += 1
        return self.answers.pop(0)


def test_a_base_whose_answers_are_met_is_not_asked_again() -> None:
    base = Base()
    expected = ExpectedAnswers(FIRST, base)
    assert expected.differing(dict(FIRST)) == ()
    assert base.asked == 0


def test_what_the_base_answers_otherwise_itself_is_no_difference() -> None:
    expected = ExpectedAnswers(FIRST, Base(LATER))
    assert expected.differing({"rows": "1", "time": "10:09", "sum": "7"}) == ()
    assert (expected.questions, expected.varying) == (("rows", "sum"), ("time",))


def test_a_wrong_answer_stays_one_beside_what_varies() -> None:
    expected = ExpectedAnswers(FIRST, Base(LATER))
    assert expected.differing({"rows": "1", "time": "10:09", "sum": "8"}) == ("sum",)


def test_the_base_is_asked_again_once_for_all_subjects() -> None:
    base = Base(LATER)
    expected = ExpectedAnswers(FIRST, base)
    for answer in ("8", "9"):
        assert expected.differing({**FIRST, "sum": answer}) == ("sum",)
    assert base.asked == 1


def test_an_answer_that_is_missing_or_that_the_base_does_not_give_differs() -> None:
    base = Base(FIRST, FIRST)
    assert ExpectedAnswers(FIRST, base).differing({"rows": "1", "time": "10:00"}) == ("sum",)
    assert ExpectedAnswers(FIRST, base).differing({**FIRST, "17": "failed"}) == ("17",)


def test_what_the_base_answers_only_sometimes_is_not_compared() -> None:
    expected = ExpectedAnswers(FIRST, Base({**FIRST, "17": "failed"}))
    assert expected.differing({**FIRST, "17": "other"}) == ()
    assert expected.varying == ("17",)
