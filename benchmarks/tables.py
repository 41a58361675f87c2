"""The tables of docs/performance.md, each made of one file of figures."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from benchmarks.bars import Data, bars, operations
from benchmarks.measuring import Row
from peos.shuffle.schedule import Schedule

HOUR: Final = 3600
DAY: Final = 24 * HOUR
_CORES: Final = 2
_SPEEDUP: Final = 1.8  # of two cores, where it was not measured


def number(value: object) -> str:
    """Three significant digits, thousands apart; a dash for nothing."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None or isinstance(value, str):
        return value or "–"
    assert isinstance(value, int | float), "a figure or a word"
    if isinstance(value, int) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def prose(text: str) -> list[str]:
    """A paragraph, its lines filled, and the empty line after it."""
    return [*textwrap.wrap(" ".join(text.split()), 120, break_long_words=False, break_on_hyphens=False), ""]


def table(header: Sequence[str], rows: Sequence[Sequence[object]], *, words: int = 1) -> list[str]:
    """A table of Markdown; the first `words` columns are text."""
    rule = ["---" if at < words else "--:" for at in range(len(header))]
    lines = [list(header), rule, *([number(cell) for cell in row] for row in rows)]
    return [f"| {' | '.join(line)} |" for line in lines]


def of_bars(data: Data) -> list[str]:
    """Every bar, and whether it was reached."""
    said = {True: "reached", False: "**not reached**", None: "not measured"}
    rows = [
        [bar.what, bar.bar, bar.measured, said[bar.held] + (f": {bar.why}" if bar.held is False and bar.why else "")]
        for bar in bars(data)
    ]
    return table(["what", "bar", "measured", ""], rows, words=4)


def of_operations(found: Row) -> list[str]:
    """Each scheme's operations on one core, and for Paillier how much sooner they are done than by others."""
    libraries = [name for name in found.get("beside", {"phe": ""}) if found.get(f"times_faster_than_{name}")]
    rows = []
    for row in found["rows"]:
        ratios = [
            found[f"times_faster_than_{name}"].get(row["operation"]) if row["scheme"] == "paillier" else ""
            for name in libraries
        ]
        rows.append([row["scheme"], row["operation"], row["microseconds"], row["bytes"], *ratios])
    return table(["scheme", "operation", "µs", "bytes", *(f"times {name}" for name in libraries)], rows, words=2)


def of_tables(found: Row) -> list[str]:
    """What is built before operations are that quick."""
    rows = [
        [row["scheme"], row["of"], f"{row['width']} bits", row["seconds"], row["megabytes"]] for row in found["tables"]
    ]
    return table(["scheme", "for", "window", "s", "MB"], rows, words=3)


def of_overhead(found: Row) -> list[str]:
    """Table 9.3: the thesis' column, then ours, for each number of shufflers."""
    metrics = (
        *(("user, ms", "user_ms"), ("user sends, bytes", "user_bytes"), ("shuffler, s", "shuffler_s")),
        *(
            ("shuffler sends, MB", "shuffler_mb"),
            ("analyzer, s", "analyzer_s"),
            ("analyzer receives, MB", "analyzer_mb"),
        ),
        *(
            ("apart: intake, s", "intake_s"),
            ("apart: freeze, s", "agree_s"),
            ("apart: freeze sends, MB", "agree_mb"),
        ),
    )
    lines: list[str] = []
    for shufflers in sorted({row["shufflers"] for row in found["thesis"]["rows"]}):
        columns = [row for row in (*found["thesis"]["rows"], *found["rows"]) if row["shufflers"] == shufflers]
        columns.sort(key=lambda row: row["protocol"])
        header = [f"r = {shufflers}", *(_called(row) for row in columns)]
        rows = [
            [said, *((row | (row.get("at_a_million") or {})).get(name) for row in columns)] for said, name in metrics
        ]
        lines += [*table(header, rows), ""]
    return lines[:-1]


def of_capacity(data: Data) -> list[str]:
    """n × r × scheme: what each party spends on a million, and for how many users an hour or a day is enough."""
    found = data["overhead"]
    assert found is not None, "the page asks only where it was measured"
    rows = []
    for row in found["rows"]:
        whole = row["at_a_million"]
        name = row["scheme"] if row["protocol"] == "peos" else "ss"
        each = seconds_a_user(row, speedups(data))
        spent = [whole[name] for name in ("shuffler_mb", "shuffler_s", "analyzer_mb", "analyzer_s")]
        rows.append([name, row["shufflers"], row["user_bytes"], row["user_ms"], *spent])
        rows[-1] += [carried(each, HOUR), carried(each, DAY)]
    rows.sort(key=lambda row: (row[1], row[0]))
    header = ["", "r", "user, bytes", "user, ms", "shuffler, MB", "shuffler, s", "analyzer, MB", "analyzer, s"]
    return table([*header, "users in an hour", "users in a day"], rows)


def speedups(data: Data) -> Mapping[tuple[str, str], float]:
    """How many times two cores beat one, where that was measured."""
    found = data["cores"]
    return {(row["scheme"], row["operation"]): row["times"] for row in found["rows"]} if found else {}


def seconds_a_user(row: Row, times: Mapping[tuple[str, str], float]) -> float:
    """From freeze to words, one more user: passes and decryption on two cores each, all that waits for them on one.

    Passes follow one another, and so do rounds; the hiders of a round work at the same time, each on its own machine.
    """
    whole, scheme = row["at_a_million"], row["scheme"]
    passes, last = ("peel", "peel") if row["protocol"] == "ss" else ("rerandomise", "decrypt")
    passing = whole["pass_s"] / times.get((scheme, passes), _SPEEDUP)
    decrypting = whole["analyzer_s"] / times.get((scheme, last), _SPEEDUP)
    mixing = max(0.0, row["shufflers"] * whole["shuffler_s"] - whole["pass_s"])
    hiders = Schedule(row["shufflers"]).threshold if row["protocol"] == "peos" else 1
    return float(whole["agree_s"] + passing + mixing / hiders + decrypting + whole["count_s"]) / 1e6


def carried(each: float, seconds: int) -> int:
    """Users, in round figures: two digits."""
    users = int(seconds / each)
    digits = max(0, len(str(users)) - 2)
    step: int = 10**digits
    return users // step * step


def of_end_to_end(found: Row) -> Iterator[str]:
    """The steps of one run, and what it took of each party."""
    scheme = found.get("scheme", "paillier")
    yield f"{found['users']:,} users, {found['fakes']:,} fakes, {found['shufflers']} shufflers, {scheme}:"
    yield ""
    yield from table(["step", "s"], [[step, seconds] for step, seconds in found["seconds"].items()])
    yield ""
    rows = [
        [row["party"], row["seconds"], _mega(row["sent"]), _mega(row["received"]), _mega(row["peak_rss"])]
        for row in found["cost"]
    ]
    yield from table(["party", "processor s", "sent, MB", "received, MB", "memory, MB"], rows)


def of_rows(rows: Sequence[Row]) -> list[str]:
    """Any list of figures, a column for each name that has no more inside it."""
    names = [name for name, value in rows[0].items() if not isinstance(value, dict | list)]
    words = next((at for at, name in enumerate(names) if not isinstance(rows[0][name], str)), len(names))
    return table(
        [name.replace("_", " ") for name in names], [[row.get(name) for name in names] for row in rows], words=words
    )


def of_peers(found: Row) -> list[str]:
    """Ours and theirs, and how much they err."""
    rows = [
        [
            *(row[name] for name in ("ours", "theirs", "microseconds", "multi-freq-ldpy", "pure-ldp")),
            row["times_the_faster"],
            f"{row['mse_ratio']:.3f} ± {row['mse_ratio_stderr']:.3f}",
        ]
        for row in found["rows"]
    ]
    head = ["ours", "theirs", "ours, µs", "multi-freq-ldpy, µs", "pure-ldp, µs", "times the faster", "error"]
    return table(head, rows, words=2)


def ready_zeros(data: Data) -> str:
    """What a pass takes where the zeros were made before, a line for the reader of the capacity table."""
    cost = operations(data)
    return ", ".join(
        f"{cost[name, 'rerandomise-ready-zeros']:.0f} in place of {cost[name, 'rerandomise']:.0f} µs ({name})"
        for name in ("paillier", "dgk", "jl")
        if (name, "rerandomise-ready-zeros") in cost
    )


def _called(row: Row) -> str:
    protocol = row["protocol"].upper()
    if "at_a_million" not in row:
        return f"thesis, {protocol}"
    return protocol if row["protocol"] == "ss" else f"{protocol}, {row['scheme']}"


def _mega(value: int | None) -> float | None:
    return None if value is None else value / 1e6
