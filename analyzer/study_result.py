"""What a study ended with: result.json of schema 2, of all its rounds together."""

import json
from typing import Any, Final

from analyzer.result import SCHEMA
from analyzer.store import CollectionRow, StudyRow
from analyzer.study import task_of
from analyzer.workspace import Workspace
from peos.collection.lifecycle import State
from peos.privacy.guarantees import Guarantees, weakest
from peos.tasks.base import Answer

_OF_THE_LAST: Final = ("collection", "fakes", "parameters", "inspection", "together")


def result_of(workspace: Workspace, study: StudyRow, answer: Answer, reason: str) -> dict[str, Any]:
    """Of the answer and of every round, those that were aborted too."""
    rounds = workspace.store.rounds(study.name)
    published = [json.loads(one.result) for one in rounds if one.result is not None]
    found = answer.found
    checks: dict[str, bool | None] = {}
    for one in published:
        for name, held in one["checks"].items():
            checks[name] = held if checks.get(name, True) is True else checks[name]
    claims = [claim for one in rounds if (claim := _claims(workspace, one)) is not None]
    together = weakest(claims) if claims else None
    last = published[-1] if published else {}
    return {
        **{name: last.get(name) for name in _OF_THE_LAST},
        "schema": SCHEMA,
        "ok": bool(published) and all(held is not False for held in checks.values()),
        "digest": study.id.hex(),
        "dropped": None,
        **found.to_json(),
        "users": sum(one["users"] for one in published),
        "oracle": None,
        "bits": None,
        "post_processed": None,
        "truth": None,
        "guarantees": None if together is None else {**together.to_json(), "coalitions": list(together.in_words())},
        "task": task_of(study),
        "complete": answer.is_complete,
        "reason": reason,
        "rounds": [_round(one) for one in rounds],
        **answer.more(),
        "cost": [row for one in published for row in one["cost"]],
        "checks": checks,
        "lists": None,
    }


def _round(one: CollectionRow) -> dict[str, Any]:
    if one.result is not None:
        found: dict[str, Any] = json.loads(one.result)["rounds"][0]
        return found
    return {"name": one.name, "digest": one.digest.hex(), "state": one.state, "reason": one.reason}


def _claims(workspace: Workspace, one: CollectionRow) -> Guarantees | None:
    """With the users who were counted; of a round that was aborted after users may have answered, with its minimum."""
    if one.opened_at is None:
        return None
    document = workspace.signed(one).document
    users = json.loads(one.result)["users"] if one.state is State.PUBLISHED and one.result else document.minimum
    return document.claims(users)
