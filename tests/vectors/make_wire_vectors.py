"""Writes wire/*.json: `python -m tests.vectors.make_wire_vectors`.

An independent account of the wire (see wire_by_hand): nothing of the project is used but the modulus in
paillier.json. A second run writes the same bytes, and a test compares.

Each file is {message, good, bad}. A good case has its values next to its bytes. A bad one says `why` it must be
refused, a word of a closed set, and what the sentence of the refusal contains. A case is a list of messages: a vector
takes several, everything else one.
"""

import json
from pathlib import Path

from tests.vectors import wire_collection, wire_questions, wire_shuffle

FILES = {
    "signed_document": wire_collection.signed_documents,
    "signed_question": wire_questions.signed_questions,
    "part": wire_collection.parts,
    "acknowledgement": wire_collection.acknowledgements,
    "announcements": wire_collection.announcements,
    "list_chunk": wire_collection.stretches,
    "frozen_digest": wire_collection.frozen_digests,
    "word": wire_shuffle.words,
    "vector": wire_shuffle.vectors,
    "notice": wire_shuffle.notices,
    "receipt": wire_shuffle.receipts,
}


def rendered() -> dict[str, str]:
    """The files as text."""
    return {f"wire/{name}.json": json.dumps(make(), indent=1, ensure_ascii=True) + "\n" for name, make in FILES.items()}


if __name__ == "__main__":
    for name, text in rendered().items():
        (Path(__file__).parent / name).write_text(text)
