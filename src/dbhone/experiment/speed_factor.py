"""How much faster or slower than expected this machine builds."""

from __future__ import annotations


class Pace:
    """Learns from builds, and so says what to expect of the next."""

    def __init__(self) -> None:
        self._expected = self._took = 0.0

    @property
    def factor(self) -> float:
        """How many times as long as expected all builds so far took."""
        return self._took / self._expected if self._expected else 1.0

    def learn(self, expected: float, took: float) -> None:
        """Count a build that took so many seconds, by now expected to take so many.

        One that was expected to take no time, since it was there already, tells nothing.
        """
        if expected > 0:
            self._expected += expected / self.factor
            self._took += took
