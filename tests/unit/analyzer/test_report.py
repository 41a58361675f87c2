"""The report page: what it shows is what result.json holds, what it is given is text, and it asks for nothing."""

import base64
import hashlib
import math
import re
from collections.abc import Callable
from importlib.resources import files
from itertools import pairwise
from typing import Any

import pytest
from rich.console import Console

from analyzer.report import page
from analyzer.report.formatting import cut, size
from analyzer.report.guarantees import guess
from analyzer.report.values import SHOWN
from analyzer.result import show
from peos.estimate.post_processing import OF_THE_RAW
from peos.estimate.post_processing.published import post_processed
from peos.protocols import DEFAULT
from peos.registry import POST_PROCESSING
from tests.raising import raises
from tests.unit.analyzer.pages import Element, cells, disagreements, made, read, shown_number

HOSTILE = "<script>alert('1')</script><img src=x onerror=\"x()\"> & \x00"


def shown(found: dict[str, Any]) -> Element:
    """The page, read."""
    return read(page(found))


def text_of(found: dict[str, Any]) -> str:
    """All its text, white space evened out."""
    return " ".join(shown(found).one("body").text.split())


@pytest.mark.parametrize("truth", [True, False])
@pytest.mark.parametrize("domain", [2, 12, SHOWN, SHOWN + 1, 700])
def test_every_number_of_the_table_is_that_of_result_json_after_the_stated_rounding(domain: int, truth: bool) -> None:
    found = made(domain, truth=truth)
    table = shown(found).one("table", "values")
    rows = cells(table)
    assert len(rows) == min(domain, SHOWN)
    assert disagreements(rows, table.one("caption").text, found) == []
    altered = made(domain, truth=truth)
    altered["frequency"][found["labels"].index(rows[0][0])] += 0.02
    assert len(disagreements(rows, table.one("caption").text, altered)) == 1, "a difference would be seen"


def _places(line: Element) -> tuple[float, ...]:
    return tuple(float(line.attributes[name].removesuffix("%")) for name in ("x1", "x2"))


def scale_of(chart: Element) -> tuple[Callable[[float], float], float]:
    """From a place in the drawing to the share of the users that its scale says, and how near that is."""
    marks = {
        shown_number(tick.text): float(tick.attributes["x"].removesuffix("%")) for tick in chart.all("text", "tick")
    }
    assert len(marks) >= 3, marks
    (first, at_first), *_, (last, at_last) = sorted(marks.items())

    def share(at: float) -> float:
        return (first + (at - at_first) * (last - first) / (at_last - at_first)) / 100

    return share, 1e-4 * (last - first) / 100


@pytest.mark.parametrize(("domain", "users"), [(2, 5000), (12, 40), (64, 2000), (700, 5000)])
def test_what_is_drawn_lies_where_the_scale_says(domain: int, users: int) -> None:
    found = made(domain, users=users, truth=True)
    chart = shown(found).one("svg", "chart")
    share, tolerance = scale_of(chart)
    rows = list(chart.all("g", "row"))
    labels = [row.one("title").text.partition(":")[0] for row in rows]
    negative = 0
    for label, row in zip(labels, rows, strict=True):
        place = found["labels"].index(label)
        bar, (interval, *caps), mark = row.one("rect", "bar"), row.all("line", "interval"), row.one("path", "truth")
        assert mark.tag == "path"
        start = float(bar.attributes["x"].removesuffix("%"))
        ends = share(start), share(start + float(bar.attributes["width"].removesuffix("%")))
        estimate = found["frequency"][place]
        negative += estimate < 0
        assert ends == pytest.approx(sorted((0.0, estimate)), abs=tolerance), label
        low, high = map(share, _places(interval))
        assert [low, high] == pytest.approx(found["interval95"][place], abs=tolerance), label
        assert [share(_places(cap)[0]) for cap in caps] == pytest.approx([low, high], abs=tolerance)
        assert all(0 <= at <= 100 for at in _places(interval)), "nothing is cut off"
        assert ("noise" in bar.classes) != found["significant"][place]
        assert row.one("title").text.endswith("; found") == found["significant"][place]
    if (domain, users) == (12, 40):
        assert negative, "estimates below zero are among what this shows"


def test_of_a_hundred_thousand_values_the_largest_are_shown_and_the_rest_is_counted() -> None:
    found = made(100_000, users=20_000, epsilon=12.0)
    whole = page(found)
    assert len(whole) < 60_000
    rows = cells(read(whole).one("table", "values"))
    order = sorted(range(100_000), key=lambda value: -found["frequency"][value])
    assert [int(row[0]) for row in rows] == order[:SHOWN]
    said = read(whole).one("p", "left-out").text
    assert f"{100_000 - SHOWN:,} more values are not shown" in said
    left = sum(found["significant"][value] for value in order[SHOWN:])
    assert left > 50, "many of those that are left out are found: their number is worth saying"
    assert f"{left:,} of them are found" in said
    tile = next(one for one in shown(found).one("dl", "tiles").all("div") if "values found" in one.one("dt").text)
    assert shown_number(tile.one("dd").text) == sum(found["significant"])
    assert tile.one("dt").text == "of 100,000 values found"
    assert shown_number(re.findall(r"estimated at (\S+) %", said)[0]) == pytest.approx(
        100 * found["frequency"][order[SHOWN]], abs=0.01
    )
    assert not list(shown(made(SHOWN)).all("p", "left-out")), "where all are shown nothing is left out"


@pytest.mark.parametrize(
    "changes",
    [{"frequency": [0.0, 0.0], "stderr": [0.0, 0.0], "interval95": [[0.0, 0.0]] * 2, "significant": [False] * 2}, {}],
)
def test_a_domain_of_two_is_a_page_even_without_any_noise(changes: dict[str, Any]) -> None:
    found = made(2, **changes)
    assert disagreements(cells(shown(found).one("table", "values")), text_of(found), found) == []


def _poisoned(found: Any, kept: frozenset[str]) -> Any:
    """Every text of a result replaced, but for the mechanism's name; keys of checks too."""
    if isinstance(found, dict):
        return {name: value if name in kept else _poisoned(value, kept) for name, value in found.items()}
    if isinstance(found, list):
        return [_poisoned(value, kept) for value in found]
    return HOSTILE if isinstance(found, str) else found


def test_whatever_text_a_result_holds_appears_as_text() -> None:
    found = _poisoned(made(3, truth=True), frozenset())
    found["checks"] = {HOSTILE: False, "odd": HOSTILE}
    with raises("input.protocol"):
        page(found)  # what an unknown protocol claims, is not known here
    found["parameters"]["protocol"] = DEFAULT.name
    read_back = shown(found)
    plain = HOSTILE.replace("\x00", "\ufffd")
    tags = {one.tag for one in read_back.all()}
    assert tags.isdisjoint({"script", "img", "link", "iframe", "object", "form", "a"})
    assert not [name for one in read_back.all() for name in one.attributes if name.startswith("on") or name == "style"]
    seen = read_back.one("body").text
    assert seen.count(plain) >= 3 + 3 + 3, "labels, shufflers, coalitions"
    assert read_back.one("h1").text == plain
    assert "\x00" not in page(found)
    untouched = made(3)
    untouched["labels"][0] = HOSTILE
    assert plain in [row[0] for row in cells(shown(untouched).one("table", "values"))]


def test_the_template_marks_nothing_as_safe_and_one_file_of_ours_is_shown_as_it_is() -> None:
    templates = [file for folder in files("analyzer").iterdir() if folder.is_dir() for file in folder.iterdir()]
    templates = [file for file in templates if file.name.endswith(".html")]
    assert len(templates) >= 3
    for template in templates:
        text = template.read_text(encoding="utf-8")
        assert not re.findall(r"\|\s*(safe|forceescape)|autoescape|Markup", text), template.name
    code = (files("analyzer.report") / "template.py").read_text(encoding="utf-8")
    assert "autoescape=True" in code
    assert re.findall(r"Markup\((\w+)\)", code) == ["look"]


def test_long_labels_are_cut_and_whole_in_a_title() -> None:
    long = "a very long name of a medicine " * 8
    found = made(3)
    found["labels"][1] = long
    body = shown(found)
    at = [row[0] for row in cells(body.one("table", "values"))].index(cut(long, 60))
    row = list(body.one("table", "values").one("tbody").all("tr"))[at]
    head = row.one("th")
    assert head.attributes["title"] == long
    assert head.text.endswith("…")
    assert len(head.text) <= 60
    drawn = list(body.one("svg", "chart").all("g", "row"))[at]
    assert drawn.one("title").text.startswith(long)
    assert {len(one.text) for one in drawn.all("text", "label")} <= set(range(10, 34))


@pytest.mark.parametrize(
    ("value", "width"), [("", 5), ("x" * 50, 5), ("漢字" * 20, 7), ("e\u0301" * 30, 9), ("WWWWWWWW", 4)]
)
def test_a_label_that_is_cut_is_no_longer_than_there_is_room(value: str, width: int) -> None:
    assert len(cut(value, width).replace("\u0301", "")) <= width
    assert cut("short", 5) == "short"


def test_the_page_asks_for_nothing_and_its_policy_would_let_nothing_through() -> None:
    whole = page(made(64, truth=True))
    assert not re.findall(r"https?:|//|url\(|@import|src=|href=|xmlns|data:", whole)
    body = read(whole)
    look = body.one("style").text
    (policy,) = [one.attributes["content"] for one in body.all("meta") if "http-equiv" in one.attributes]
    directives = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    digest = base64.b64encode(hashlib.sha256(look.encode()).digest()).decode()
    assert directives == {
        "default-src": "'none'",
        "style-src": f"'sha256-{digest}'",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    assert whole.index("Content-Security-Policy") < whole.index("<style>"), "it must hold for what follows it"


def _costs(found: dict[str, Any]) -> dict[str, list[str]]:
    return {row[0]: row[1:] for row in cells(shown(found).one("table", "costs"))}


def _as_bytes(told: str) -> float:
    number, unit = told.replace(",", "").split()
    return float(number) * 1000.0 ** ["bytes", "kB", "MB", "GB"].index(unit)


def test_what_was_not_measured_is_said_to_be_so_and_never_nought() -> None:
    rows = _costs(made(3))
    missing = ["not measured"] * 4
    named = [
        f"shuffler {number} ({name})" for number, name in enumerate(("university", "consumer council", "hospital"), 1)
    ]
    assert list(rows) == [*named, "analyzer", "users"]
    assert all(rows[name] == missing for name in (*named, "users"))
    assert shown_number(rows["analyzer"][0]) == pytest.approx(12.34, abs=0.05)
    told = [_as_bytes(one) for one in rows["analyzer"][1:]]
    assert told == pytest.approx([67_384, 2_071_920, 334_385_152], rel=0.005)


def test_each_partys_cost_is_its_own_even_if_an_organisation_calls_itself_analyzer() -> None:
    found = made(3)
    found["collection"]["shufflers"] = ["analyzer", "b", "users"]
    found["cost"].append({"party": "b", "seconds": 0.25, "sent": 0, "received": 999, "peak_rss": None})
    rows = _costs(found)
    assert rows["shuffler 1 (analyzer)"] == rows["shuffler 3 (users)"] == ["not measured"] * 4
    assert rows["shuffler 2 (b)"] == ["0.25", "0 bytes", "999 bytes", "not measured"]
    assert rows["analyzer"][0] == "12.3"


@pytest.mark.parametrize("count", [0, 1, 999, 1000, 1005, 99_950, 999_499, 999_500, 999_999, 10**9, 123_456_789_012])
def test_bytes_are_told_to_three_digits(count: int) -> None:
    assert _as_bytes(size(count)) == pytest.approx(count, rel=0.005)
    assert len(re.sub(r"\D", "", size(count))) <= 3 or count >= 10**11


def test_checks_are_shown_whatever_they_are_called_and_a_failure_is_at_the_top() -> None:
    found = made(3, ok=False, checks={"dummies": True, "no_row_replaced": False, "spot_checks": None, "opened": 12})
    body = shown(found)
    rows = cells(body.one("table", "checks"))
    assert [row[1] for row in rows] == ["holds", "FAILS", "not carried out", "12"]
    assert rows[0][0].startswith("Every dummy came out of the shuffle exactly")
    assert [row[0] for row in rows[1:]] == ["No row replaced.", "Spot checks.", "Opened."]
    (alarm,) = body.one("header").all("p", "alarm")
    assert "no row replaced" in alarm.text
    assert not list(shown(made(3)).all("p", "alarm"))


def test_an_inspection_is_said_to_have_gone_as_far_as_it_went() -> None:
    def said(**seen: Any) -> str:
        found = made(3, checks={"inspection": True}, inspection=seen)
        return shown(found).one("p", "inspected").text

    assert said(dummies=32, not_opened=[]) == "The rows of 32 dummies were inspected."
    partly = said(dummies=32, not_opened=[1, 3])
    assert "The rows of shuffler 1 (university), shuffler 3 (hospital) were not seen" in partly
    assert "the analyst had the result published without them" in partly
    nothing = said(dummies=0, not_opened=[2])
    assert nothing.startswith("No row was inspected")
    assert "shuffler 2 (consumer council)" in nothing
    assert not list(shown(made(3)).all("p", "inspected"))


def test_each_coalition_has_its_claim_rounded_up_and_what_it_rests_on() -> None:
    found = made(64, users=50_000)
    claims = found["guarantees"]
    cards = list(shown(found).all("article", "card"))
    said = [one.text for one in shown(found).one("details").all("li")]
    wanted = []
    for who in ("server", "users"):
        ways = [("theorem 3.1", claims[who]["theorem"], 1e-6), ("exact accounting", claims[who]["exact"], 1e-6)]
        ways += [("own randomness", claims["local"], 0.0)]
        wanted.append(min((way for way in ways if way[1] is not None), key=lambda way: way[1]))
    wanted.append(("own randomness", claims["local"], 0.0))
    for card, sentence, (because, epsilon, delta) in zip(cards, claims["coalitions"], wanted, strict=True):
        claimed = shown_number(card.one("b", "epsilon").text)
        assert epsilon <= claimed < epsilon + 1e-4
        assert card.one("b", "delta").text == ("10⁻⁶" if delta else "0")
        assert sentence in said
        assert sentence.removeprefix("Against ").partition(":")[0].lower() == card.one("h3").text.lower()
        assert because in card.one("p", "rests").text


def test_the_smallest_of_several_claims_is_the_one_that_is_shown() -> None:
    found = made(4)
    found["guarantees"]["server"] = {"delta": 1e-6, "theorem": 0.9, "exact": 0.3}
    found["guarantees"]["users"] = {"delta": 1e-6, "theorem": None, "exact": None}
    first, second, _ = shown(found).all("article", "card")
    assert (first.one("b", "epsilon").text, first.one("b", "delta").text) == ("0.3000", "10⁻⁶")
    assert "exact accounting" in first.one("p", "rests").text
    assert (second.one("b", "epsilon").text, second.one("b", "delta").text) == ("4.0000", "0")


def test_the_page_says_that_the_first_claim_presumes_honest_users_and_what_it_would_be_with_half() -> None:
    found = made(64, users=50_000)
    half = found["guarantees"]["server"]["half_of_users"]
    assert found["guarantees"]["server"]["exact"] < half < found["guarantees"]["users"]["exact"]
    body = shown(found)
    first, *others = body.all("article", "card")
    assert first.one("p", "assumed").text == (
        "ε_c assumes that the other users are honest: the organisation that hands out tickets could add users of its "
        f"own. If half of the users were the analyzer's, ε would be {math.ceil(half * 1e4) / 1e4:.4f}."
    )
    assert not [card for card in others if list(card.all("p", "assumed"))]
    figures = [card.one("p", "figures").text for card in body.all("article", "card")]
    assert [figure.partition(" = ")[0] for figure in figures] == ["ε_c", "ε_s", "ε_l"]
    assert "if the other users are honest" in body.one("dl", "tiles").text


def test_what_several_collections_give_away_is_shown_for_both_adversaries() -> None:
    together = {"collections": 3, "server": 0.41234, "users": 2.00001, "delta": 1e-6, "budget": 1.0}
    said = shown(made(5, together=together)).one("p", "together").text
    assert "All 3 collections" in said
    assert "ε = 0.4124 at δ = 10⁻⁶ against the analyzer, alone or with few shufflers, if the other users are" in said
    assert "ε = 2.0001 if all other users are the analyzer's" in said
    for alone in (made(5), made(5, together=None), made(5, together=together | {"collections": 1})):
        assert not list(shown(alone).all("p", "together"))


def test_found_is_said_with_one_word_everywhere_and_with_what_it_claims(capsys: pytest.CaptureFixture[str]) -> None:
    found = made(64, users=2000)
    count = sum(found["significant"])
    assert 0 < count < 64
    above = sum(low > 0 for low, _ in found["interval95"])
    assert count < above, "an interval that leaves zero out is no finding"
    body, said = shown(found), text_of(found)
    assert f"of 64 values found{count}" in body.one("dl", "tiles").text.replace("\n", "")
    bars = [one for one in body.one("svg", "chart").all("rect", "bar") if "noise" not in one.classes]
    rows = cells(body.one("table", "values"))
    assert len(bars) == len([row for row in rows if row[-1] == "yes"]) == count
    assert said.count("At most 1 in 20 results like this calls any value found that no user gave.") == 1
    assert "told from zero" not in said
    show(found, Console(width=200), everything=True)
    printed = capsys.readouterr().out
    assert len([line for line in printed.splitlines() if line.split()[-1:] == ["yes"]]) == count
    assert f"{count} of 64 values found; at most 1 in 20 results like this calls any value found that" in printed


def test_a_result_from_before_values_were_found_says_that_it_does_not_know(capsys: pytest.CaptureFixture[str]) -> None:
    found = made(40)
    del found["significant"]
    body = shown(found)
    assert {row[-1] for row in cells(body.one("table", "values"))} == {"not recorded"}
    assert "of 40 values foundnot recorded" in body.one("dl", "tiles").text
    assert all("noise" in one.classes for one in body.one("svg", "chart").all("rect", "bar"))
    assert "This result does not say which values are found." in text_of(found)
    show(found, Console(width=200))
    assert "not recorded" in capsys.readouterr().out


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 4.0, 12.0, 48.0])
@pytest.mark.parametrize("delta", [0.0, 1e-9, 1e-3])
def test_the_chance_of_naming_the_right_answer_is_that_of_the_worst_pair_of_distributions(
    epsilon: float, delta: float
) -> None:
    # The worst pair: δ gives the answer away, else randomised response with e^ε to one.
    told = delta + (1 - delta) * math.exp(epsilon) / (1 + math.exp(epsilon))
    assert 100 * told - 1e-9 <= float(guess(epsilon, delta)) < 100 * told + 0.1 + 1e-9


def test_a_result_from_before_the_question_was_in_it_is_still_a_page() -> None:
    found = made(5)
    del found["collection"]
    said = text_of(found)
    assert "A collection of 5 values" in said
    assert "not recorded" in said


def test_who_asked_what_and_when_is_said() -> None:
    said = text_of(made(12))
    for part in (
        *("Which medicine do you take?", "2024, third quarter", "health office", "university", "consumer council"),
        *(
            "1 October 2024, 01:01 UTC",
            "1 October 2024, 00:00 UTC",
            "5,000",
            "2,500",
            "2,000, added",
            "ε = 4.0000 of each",
        ),
        *("randomised response", "12 possible answers", "not known", "ab" * 32),
    ):
        assert part in said, part
    assert "A demonstration" not in said
    assert "A demonstration" in text_of(made(12, truth=True))


def test_tables_and_drawing_are_there_for_those_who_do_not_see_them() -> None:
    body = shown(made(64, truth=True))
    assert body.one("html").attributes["lang"] == "en-GB"
    for table in body.all("table"):
        assert table.one("caption").text
        assert all(head.attributes["scope"] == "col" for head in table.one("thead").all("th"))
        assert all(row.one("th").attributes["scope"] == "row" for row in table.one("tbody").all("tr"))
    chart = body.one("svg", "chart")
    named = chart.attributes["aria-labelledby"]
    assert chart.attributes["role"] == "img"
    assert [one.tag for one in chart.all() if one.attributes.get("id") == named] == ["title"]
    assert body.one("figure").one("figcaption").text
    levels = [int(one.tag[1]) for one in body.all() if re.fullmatch(r"h\d", one.tag)]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(one: str, other: str) -> float:
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_enough_in_light_and_in_dark() -> None:
    assert _contrast("#000000", "#ffffff") == pytest.approx(21)
    look = (files("analyzer.report") / "page.css").read_text(encoding="utf-8")
    themes = [
        dict(re.findall(r"--(\w+): (#\w{6})", block)) for block in re.findall(r":root \{(.*?)\}", look, re.DOTALL)
    ]
    assert len(themes) == 2
    for theme in themes:
        texts = [(name, on) for name in ("ink", "soft", "good", "bad") for on in ("ground", "card")]
        marks = [
            ("bar", "ground"),
            ("interval", "ground"),
            ("truth", "ground"),
            ("good", "ground"),
            ("interval", "bar"),
        ]
        low = [(pair, _contrast(*(theme[name] for name in pair))) for pair in texts]
        assert all(contrast >= 4.5 for _, contrast in low), low
        low = [(pair, _contrast(*(theme[name] for name in pair))) for pair in marks]
        assert all(contrast >= 3.0 for _, contrast in low), low


@pytest.mark.parametrize("truth", [True, False])
def test_post_processed_frequencies_stand_beside_the_raw_ones_and_have_no_intervals(truth: bool) -> None:
    found = made(40, truth=truth)
    raw = shown(found)
    processed = found | {"post_processed": post_processed(found, "norm_sub")}
    body = shown(processed)
    table = body.one("table", "values")
    assert "After norm_sub, %" in table.one("thead").text
    assert disagreements(cells(table), table.one("caption").text, processed) == []
    shifted = [share + 0.01 for share in processed["post_processed"]["frequency"]]
    wrong = processed | {"post_processed": processed["post_processed"] | {"frequency": shifted}}
    assert disagreements(cells(table), table.one("caption").text, wrong), "a difference would be seen"
    assert [row[:5] for row in cells(table)] == [row[:5] for row in cells(raw.one("table", "values"))]
    chart = body.one("svg", "chart")
    share, tolerance = scale_of(chart)
    for row in chart.all("g", "row"):
        place = found["labels"].index(row.one("title").text.partition(":")[0])
        drawn = share(float(row.one("circle", "after").attributes["cx"].removesuffix("%")))
        assert drawn == pytest.approx(processed["post_processed"]["frequency"][place], abs=tolerance)
        interval, *_ = row.all("line", "interval")
        assert [*map(share, _places(interval))] == pytest.approx(found["interval95"][place], abs=tolerance)
    assert not list(raw.all("circle", "after"))
    said = body.one("p", "processed").text
    assert said.startswith(f"{OF_THE_RAW}. ")
    assert POST_PROCESSING["norm_sub"].about in said
    assert not list(raw.all("p", "processed"))
    notes = post_processed(found, "auto:top:3") | {"notes": [HOSTILE], "method": HOSTILE}
    assert HOSTILE.replace("\x00", "\ufffd") in shown(found | {"post_processed": notes}).one("p", "processed").text
