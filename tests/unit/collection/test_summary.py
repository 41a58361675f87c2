"""What an operator is shown of a collection: the question and every answer, as users see them, and the terms."""

import json
from dataclasses import replace

from peos.collection.summary import Summary
from tests.unit.collection.made import DOCUMENT

LABELS = tuple(f"answer {number}" for number in range(DOCUMENT.choice.domain))


def test_question_answers_and_terms_are_shown() -> None:
    shown = str(Summary.of(replace(DOCUMENT, labels=LABELS, question="Which\nof\x1b[2J these?")))
    assert "question   Which of?[2J these?" in shown, "what an analyzer wrote does nothing to a terminal"
    for number, label in enumerate(LABELS):
        assert f"{number} {label}" in shown, "a long list is not cut"
    for text in (DOCUMENT.analyzer.name, f"minimum {DOCUMENT.minimum:,} reports", f"{DOCUMENT.fakes:,} fakes"):
        assert text in shown


def test_without_labels_answers_are_numbers() -> None:
    assert f"whole numbers from 0 to {DOCUMENT.choice.domain - 1}" in str(Summary.of(DOCUMENT))


def test_a_summary_comes_back_from_the_status_file() -> None:
    made = Summary.of(replace(DOCUMENT, labels=LABELS))
    assert Summary.from_json(json.loads(json.dumps(made.to_json()))) == made
