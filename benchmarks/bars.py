"""The speeds that were aimed at, each with what was measured against it; `held` is None where nothing was."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from benchmarks.measuring import Row

Data = Mapping[str, Row | None]
MILLION: Final = 1_000_000
KEY_BITS: Final = 3072
THESIS_MB: Final = 3293.3  # sent by a shuffler, r = 7
MOST_MEMORY: Final = 2e9
MOST_STREAMED: Final = 512.0  # MB, at d = 1024
MOST_LARGE: Final = 1000.0  # MB, at d = 2^20
COUNT_LARGE: Final = {1.0: 3.0, 2.0: 5.0, 4.0: 20.0}  # seconds by ε
LIBRARIES: Final = ("multi-freq-ldpy", "pure-ldp")
MOST_ERROR: Final = 1.02  # our mean squared error over theirs
MOST_OFF: Final = 0.004  # the standard error of that
LONGEST: Final = 3600.0  # "minutes": below an hour
LINEAR: Final = 0.1  # no point of 10^4 users or more lies further from the line, relatively
_FROM: Final = 10_000


@dataclass(frozen=True)
class Bar:
    """One line of the table."""

    what: str
    bar: str
    measured: str
    held: bool | None
    why: str = ""  # said where it was not reached


def bars(data: Data) -> list[Bar]:
    """All of them, in their order."""
    parts: tuple[Callable[[Data], Iterator[Bar]], ...] = (
        _paillier,
        _words,
        _count,
        _fields,
        _large,
        _peers,
        _cores,
        _bytes,
        _million,
        _growth,
    )
    return [bar for part in parts for bar in part(data)]


def operations(data: Data) -> dict[tuple[str, str], float]:
    """Microseconds by scheme and operation; empty where nothing was measured."""
    found = data["schemes"]
    return {(row["scheme"], row["operation"]): row["microseconds"] for row in found["rows"]} if found else {}


def _paillier(data: Data) -> Iterator[Bar]:
    found = data["schemes"] or {}
    times: Mapping[str, float] = found.get("times_faster_than_phe") or {}
    why = _products(found, 2 * KEY_BITS, "an encryption from tables has 53 of them, its factors half as long")
    for operation, what in (("encrypt", "encrypt, in batches"), ("rerandomise", "add and re-randomise, in batches")):
        yield _at_least(f"Paillier: {what}, against phe", 60, times.get(operation), why)
    yield _at_least("Paillier: one user's one report, no tables, against phe", 1, times.get("encrypt-cold"), why)
    packed = [of for name, of in times.items() if name.startswith("decrypt-") and "-passes" in name]
    slowest = min(packed, default=None)
    yield _at_least("Paillier: decrypt, against phe, the slowest case", 4, slowest, "fewer rows fit into one power")


def _words(data: Data) -> Iterator[Bar]:
    found = data["schemes"] or {}
    whys = {"dgk": "an encryption from tables has about 60 of them", "jl": "x^(2^64) alone is 64 squarings"}
    for row in found.get("against_bars") or ():
        name, took = row["scheme"].upper(), row["milliseconds"]
        why = _products(found, KEY_BITS, whys[row["scheme"]]) if row["operation"] != "decrypt" else ""
        yield Bar(f"{name}: {row['operation']}", f"≤ {row['bar']} ms", f"{took:.3f} ms", took <= row["bar"], why)


def _count(data: Data) -> Iterator[Bar]:
    found = data["count"] or {}
    why = f"a step is one random access to a counter; there are {found.get('steps_a_report', 0):.0f} a report"
    yield _at_least("support counts, against xxhash over all pairs", 100, found.get("times_faster"), why)


def _fields(data: Data) -> Iterator[Bar]:
    found = data["mechanisms"] or {}
    slowest = max((row["microseconds_a_report"] for row in found.get("fields", ())), default=None)
    yield _at_most(
        "counting a unary report of 1024 values, fields of up to 8 bits, the slowest width", 1.0, slowest, "µs"
    )
    most = max((row["megabytes"] for row in found.get("mechanisms", ())), default=None)
    yield _at_most(
        "a million reports of 1024 values drawn and tallied, the one that holds most", MOST_STREAMED, most, "MB"
    )


def _large(data: Data) -> Iterator[Bar]:
    """Hadamard response on 2^20 values."""
    found = data["mechanisms"] or {}
    rows: Mapping[float, Row] = {row["epsilon"]: row for row in found.get("large", ())}
    drawn = max((row["randomise_s"] for row in rows.values()), default=None)
    where = "Hadamard response, a million reports of 2^20 values"
    yield _at_most(f"{where}: randomise, the slowest ε", 1.0, drawn, "s")
    for epsilon, most in COUNT_LARGE.items():
        yield _at_most(f"{where}: count, ε = {epsilon:g}", most, rows[epsilon]["count_s"] if rows else None, "s")
    yield _at_least(f"{where}: count, ε = 2, against local hashing", 500, rows[2.0]["times_faster"] if rows else None)
    off = max((abs(row["variance_ratio"] - 1) for row in rows.values()), default=None)
    yield _at_most(f"{where}: variance off that of local hashing", 0.5, None if off is None else 100 * off, "%")
    held = max((row["megabytes"] for row in rows.values()), default=None)
    yield _at_most(f"{where}: memory", MOST_LARGE, held, "MB")


def _cores(data: Data) -> Iterator[Bar]:
    found = data["cores"] or {}
    slowest: dict[str, float] = {}
    for row in found.get("rows") or ():
        slowest[row["operation"]] = min(row["times"], slowest.get(row["operation"], row["times"]))
    for operation in ("rerandomise", "decrypt"):
        yield _at_least(
            f"two cores against one: {operation}, the slowest scheme",
            1.8,
            slowest.get(operation),
            "others were at work",
        )


def _bytes(data: Data) -> Iterator[Bar]:
    sent = {row["scheme"]: row["at_a_million"] for row in _rows(data, shufflers=7)}
    for name, part in (("paillier", 6), ("dgk", 11), ("jl", 11)):
        what = f"bytes that a shuffler sends in the shuffle, n = 10⁶, r = 7, {name}: the thesis' 3,293 MB"
        bar = f"≤ 1/{part}: {THESIS_MB / part:.0f} MB"
        if name not in sent:
            yield Bar(what, bar, "", None)
            continue
        megabytes, lists = (sent[name][which] for which in ("shuffler_mb", "agree_mb"))
        said = f"{megabytes:.0f} MB (the freeze before it: {lists:.0f} MB of lists)"
        yield Bar(what, bar, said, megabytes <= THESIS_MB / part)


def _million(data: Data) -> Iterator[Bar]:
    what = "10⁶ reports from submission to histogram, r = 3, JL, all parties on one machine of two cores"
    found = data["end-to-end-million"]
    bar = "minutes, < 2 GB a process"
    if found is None:
        yield Bar(what, bar, "", None)
        return
    took = sum(found["seconds"].values())
    most = max(row["peak_rss"] or 0 for row in found["cost"])
    held = took < LONGEST and most < MOST_MEMORY and found["counted"] >= MILLION
    said = f"{took / 60:.0f} minutes, {most / 1e9:.2f} GB, {found['counted']:,} counted"
    yield Bar(what, bar, said, held, "see the steps below")


def _growth(data: Data) -> Iterator[Bar]:
    found = data["scaling"]
    if found is None:
        yield Bar("cost against n", "linear", "", None)
        yield Bar("passes over the ciphertexts", "r − t + 1", "", None)
        return
    fixed = {one["shufflers"]: one for one in found["lines"]}
    furthest = max(
        abs(one["fixed_s"] + one["microseconds_a_row"] * point["rows"] / 1e6 - point["total_s"]) / point["total_s"]
        for point in found["points"]
        if point["users"] >= _FROM or point is found["points"][-1]
        for one in (fixed[point["shufflers"]],)
    )
    yield Bar("cost against n", "linear", f"within {furthest:.1%} of a line", furthest <= LINEAR)
    said = ", ".join(f"{one['passes']} (r = {one['shufflers']})" for one in found["lines"])
    equal = all(one["passes"] == one["holders"] for one in found["lines"])
    yield Bar("passes over the ciphertexts", "r − t + 1", said, equal)


def _peers(data: Data) -> Iterator[Bar]:
    """Each line against the faster of two libraries, and all their errors."""
    rows: list[Row] = (data["peers"] or {}).get("rows", [])
    for row in rows:
        theirs = min(row[name] for name in LIBRARIES if row[name] is not None)
        yield _at_least(
            f"{row['ours']}: randomise and count, against {row['theirs']} of the faster library",
            row["bar"],
            row["times_the_faster"],
            f"theirs takes {theirs:.1f} µs a report, and ours would have {theirs / row['bar']:.2f}",
        )
    if not rows:
        yield Bar("randomise and count, against the faster of two libraries", "by mechanism", "", None)
        return
    worst = max(rows, key=lambda row: row["mse_ratio"])
    said = f"{worst['mse_ratio']:.3f} ± {worst['mse_ratio_stderr']:.3f} ({worst['ours']} against {worst['theirs']})"
    known = max(row["mse_ratio_stderr"] for row in rows) <= MOST_OFF
    bar = f"≤ {MOST_ERROR:g} of theirs, each known to {MOST_OFF:g}"
    yield Bar(
        "mean squared errors on the same values, the least favourable",
        bar,
        said,
        known and worst["mse_ratio"] <= MOST_ERROR,
    )


def _rows(data: Data, *, shufflers: int) -> list[Row]:
    found: dict[str, Any] = data["overhead"] or {"rows": []}
    return [row for row in found["rows"] if row["protocol"] == "peos" and row["shufflers"] == shufflers]


def _at_most(what: str, most: float, found: float | None, unit: str) -> Bar:
    said = "" if found is None else f"{found:.3g} {unit}"
    return Bar(what, f"≤ {most:g} {unit}", said, None if found is None else found <= most)


def _at_least(what: str, least: float, times: float | None, why: str = "") -> Bar:
    if times is None:
        return Bar(what, f"≥ {least:g} times", "", None)
    return Bar(what, f"≥ {least:g} times", f"{times:.1f} times", times >= least, why)


def _products(found: Row, bits: int, what: str) -> str:
    """Why it is not quicker, by the cost of one product."""
    of = {row["bits"]: row["microseconds"] for row in found.get("multiplications") or ()}
    return f"one product modulo {bits} bits takes {of[bits]:.2f} µs, and {what}" if bits in of else what
