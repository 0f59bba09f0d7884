"""Terms of reports that a reader may not know, explained where they stand."""

from __future__ import annotations

import html
import re

TERMS = {
    "held-out": "On steps of sets on which no subject was trained: what training gains elsewhere.",
    "in-sample": "On steps of sets on which a subject was trained.",
    "control": "The base, measured a second time. Every difference that it shows is noise.",
    "A/A": "The base against itself. Every difference is noise.",
    "interval": "A 95 % confidence interval over blocks: 95 of 100 hold the true value.",
    "block": "One trial of each set, on freshly started servers and equal data, in random order.",
    "step": "The smallest thing with a throughput of its own, such as one kind of query.",
    "base": "The subject that all others are compared with.",
    "geometric mean": "The mean of ratios: twice as fast and half as fast average to the same.",
    "effect": "A subject's figure on one step as a ratio to the base's, with its interval.",
    "summary": "The geometric mean of a subject's effects over several steps.",
    "Holm": "A correction: among many comparisons, some differ by chance alone.",
    "slice": "A short stretch of time in which one subject alone is measured.",
    "round": "One slice of each subject, in random order.",
}
"""What each means, in a sentence."""
_FORMS = {
    form: term
    for term in TERMS
    for form in (term.lower(), f"{term.lower()}s", f"{term.lower().removesuffix('y')}ies")
}
_ALL = "|".join(re.escape(form) for form in sorted(_FORMS, key=len, reverse=True))
_ANY = re.compile(rf"(?<![\w/-])(?:{_ALL})(?![\w/-])", re.IGNORECASE)


def explained(text: str) -> str:
    """Return a text as HTML: the first of each term tells its meaning when it is pointed at."""
    told: set[str] = set()
    parts: list[str] = []
    end = 0
    for match in _ANY.finditer(text):
        term = _FORMS[match[0].lower()]
        if term in told:
            continue
        told.add(term)
        parts += [html.escape(text[end : match.start()]), _marked(match[0], TERMS[term])]
        end = match.end()
    return "".join([*parts, html.escape(text[end:])])


def _marked(words: str, meaning: str) -> str:
    word, means = html.escape(words), html.escape(meaning)
    return (
        f'<span class="term" tabindex="0" role="note" aria-label="{word}: {means}"'
        f' data-meaning="{means}">{word}</span>'
    )
