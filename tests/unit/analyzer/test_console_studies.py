"""Studies on the console: their rounds, their statement, and what there is no result of yet."""

import json

from analyzer.study import create
from peos.collection.study import StudyState
from peos.spec import StudySpec
from tests.unit.analyzer.site import Site
from tests.unit.analyzer.test_console import until
from tests.unit.analyzer.test_serving import Serving
from tests.unit.analyzer.test_studies import ASKED


def test_a_study_is_shown_with_its_statement_and_its_result_once_it_is_over(site: Site, behind: Serving) -> None:
    workspace = behind.workspace
    create(workspace, StudySpec(**ASKED))
    assert "heavy-hitters, 0 rounds asked" in site.get("/").text
    here = site.get("/studies/words")
    assert "No round was asked yet" in here.text
    assert "Round 1: 500 users" in here.text, "what was promised"
    links = [one.attributes["href"] for one in here.page.all("a")]
    assert "/studies/words/statement" in links
    assert "/studies/words/result" not in links
    assert site.get("/studies/words/statement").page.one("h1").text == "Privacy statement: words"
    assert json.loads(site.get("/studies/words/statement.json").body)["kind"] == "study"
    early = site.get("/studies/words/result")
    assert early.refused == "study.not_over"
    workspace.store.end_study("words", StudyState.STOPPED, "too few", json.dumps({"labels": ["a"]}))
    assert json.loads(site.get("/studies/words/result.json").body) == {"labels": ["a"]}
    until(lambda: list(site.get("/").page.all("span", "stopped")) != [])
