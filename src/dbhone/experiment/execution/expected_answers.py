"""What a base answers to the questions of a workload, for comparison with other builds' answers."""

from __future__ import annotations

from collections.abc import Callable

from dbhone.experiment.target.target import Answers


class ExpectedAnswers:
    """The base's answers, as far as it answers the same each time that it is asked.

    A workload of the user's may ask for the time, or for rows that another statement gave a random
    key. So the base is asked again as soon as another build answers something else.
    """

    def __init__(self, answers: Answers, ask_again: Callable[[], Answers]) -> None:
        self._answers = dict(answers)
        self._ask_again = ask_again
        self._is_asked_again = False
        self.varying: tuple[str, ...] = ()
        """The questions that the base answered differently itself, and that prove nothing."""

    @property
    def questions(self) -> tuple[str, ...]:
        """The questions whose answers are compared."""
        return tuple(self._answers)

    def differing(self, answers: Answers) -> tuple[str, ...]:
        """Return the questions that a build answered otherwise than the base does each time.

        Raises DriverError or ServerError if the base must be asked again and does not answer.
        """
        if self._other(answers) and not self._is_asked_again:
            again = self._ask_again()
            self.varying = self._other(again)
            for question in self.varying:
                self._answers.pop(question, None)
            self._is_asked_again = True
        return self._other(answers)

    def _other(self, answers: Answers) -> tuple[str, ...]:
        asked = dict.fromkeys((*self._answers, *answers))
        return tuple(
            question
            for question in asked
            if question not in self.varying and answers.get(question) != self._answers.get(question)
        )
