"""docs/performance.md, and the drawing in it, made of the figures in benchmarks/results.

    python -m benchmarks.page --write

A test holds that the page is what the figures say.
"""

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from benchmarks import tables
from benchmarks.bars import Data, bars
from benchmarks.measuring import RESULTS, Row, kept
from benchmarks.tables import prose
from peos.drawing import Line, chart

DOCS: Final = RESULTS.parent.parent / "docs"
PAGE: Final = DOCS / "performance.md"
CURVES: Final = DOCS / "scaling.svg"
POINTS: Final = DOCS / "scaling.csv"
NAMES: Final = (
    *("schemes", "overhead", "count", "scaling", "cores", "ingest", "memory", "mechanisms", "peers"),
    *("marginals", "sets", "search", "pem", "rounds"),
    *("end-to-end", "end-to-end-jl", "end-to-end-million"),
)
COMMANDS: Final[Mapping[str, str]] = {
    "schemes": "peos bench schemes --json",
    "overhead": "peos bench overhead --users 10000 --shufflers 3 --shufflers 5 --shufflers 7 --json",
    "count": "peos bench count --json",
    "scaling": "python -m benchmarks.scaling --json",
    "cores": "python -m benchmarks.cores --json",
    "ingest": "peos bench ingest --json",
    "memory": "python -m benchmarks.memory --million --json",
    "mechanisms": "python -m benchmarks.mechanisms --json",
    "peers": "python -m benchmarks.peers --json",
    "marginals": "python -m benchmarks.marginals --json",
    "sets": "python -m benchmarks.sets --json",
    "search": "peos bench search --json",
    "pem": "python -m benchmarks.pem --json",
    "rounds": "python -m benchmarks.rounds --users 2000 100000 --json",
    "end-to-end": "peos bench end-to-end --json",
    "end-to-end-jl": "peos bench end-to-end --users 100000 --scheme jl --json",
    "end-to-end-million": "peos bench end-to-end --users 1000000 --scheme jl --json",
}


def data() -> dict[str, Row | None]:
    """Every file of figures."""
    return {name: kept(name) for name in NAMES}


def page(found: Data) -> str:
    """The whole page."""
    parts = (
        *(_head, _bars, _operations, _overhead, _capacity, _scaling, _count, _cores, _ingest, _end_to_end, _memory),
        *(_mechanisms, _peers, _marginals, _sets, _search, _pem, _rounds),
    )
    return "\n".join(line for part in parts for line in part(found)) + "\n"


def _head(found: Data) -> Iterator[str]:
    held = [bar.held for bar in bars(found)]
    yield from (
        "# Performance",
        "",
        *prose("""What the system costs in time, bytes and memory, and what of it was aimed at. This page is made of the
        figures in `benchmarks/results` by `python -m benchmarks.page --write`; `python -m benchmarks.all` measures them
        anew. Beneath each heading is the command that measures. A dash means that nothing was measured."""),
        "## 1. The machine",
        "",
    )
    machines: dict[str, list[str]] = {}
    for name, one in found.items():
        if one is not None and "machine" in one:
            machines.setdefault(described(one["machine"]), []).append(name)
    for machine, names in machines.items():
        yield f"- {machine}: {', '.join(names)}"
    yield ""
    yield from prose("""Unless it says *elapsed*, a time is processor time of one core, so that other work on the
    machine disturbs little. Keys have 3072 bits.""")
    yield from prose(f"""Of {len(held)} bars {held.count(True)} are reached, {held.count(False)} are not,
    {held.count(None)} not measured.""")


def described(machine: Row) -> str:
    """One line for a machine."""
    parts = [machine["processor"], f"{machine['cores']} cores"]
    parts += [f"{machine['memory_gb']} GB"] if "memory_gb" in machine else []
    parts += [f"Python {machine['python']}"]
    parts += [f"gmpy2 {machine['gmpy2']}"] if "gmpy2" in machine else []
    return ", ".join(parts)


def _bars(found: Data) -> Iterator[str]:
    yield from ("## 2. What was aimed at", "", *tables.of_bars(found), "")


def _operations(found: Data) -> Iterator[str]:
    one = found["schemes"]
    yield from ("## 3. One operation", "", *_by(found, "schemes"))
    if one is None:
        return
    beside = [f"{name} {version}" for name, version in one.get("beside", {}).items()]
    if beside:
        yield from (f"Measured in the same run: {', '.join(beside)}.", "")
    yield from (
        *tables.of_operations(one),
        "",
        *prose("""*Cold* is one report by a device that has prepared nothing; *ready zeros* are encryptions of zero made
        before; *attacked* is with one row in a thousand that does not fit its slot. The other figures hold once tables
        are built:"""),
        *tables.of_tables(one),
        "",
    )
    products = [
        f"{row['microseconds']:.2f} µs by a factor of {row['factor_bits']} bits modulo {row['bits']}"
        for row in one.get("multiplications", ())
    ]
    if products:
        yield from prose(f"All of this consists of products, of which one takes {', '.join(products)}.")


def _overhead(found: Data) -> Iterator[str]:
    one = found["overhead"]
    yield from ("## 4. Table 9.3 of the thesis, and ours", "", *_by(found, "overhead"))
    if one is None:
        return
    thesis = one["thesis"]
    yield from (
        *prose(f"""A million reports of one word. The thesis' figures are of {thesis["machine"]}, its seconds of
        shufflers and analyzer with **{thesis["threads"]} threads**; ours are processor seconds of one core, measured at
        {one["users"]:,} and {one["users"] // 2:,} users, and their difference scaled. A shuffler's are the average over
        the shufflers, and of the shuffle; what taking in submissions and agreeing on their list cost it is given apart.
        The thesis' PEOS never re-randomises, so its shufflers have next to nothing to do, and ciphertexts that follow
        one another can be linked (docs/protocol.md says how).
        A user's bytes are more than the thesis' by tickets, ids, salts and hashes."""),
        *tables.of_overhead(one),
        "",
        "What was counted in the same runs:",
        "",
    )
    rows = []
    for row in one["rows"]:
        if row["counts"]:
            counts = {
                name: value for name, value in row["counts"].items() if name not in ("encryptions", "decryptions")
            }
            rows.append({"protocol": row["protocol"], "scheme": row["scheme"], "r": row["shufflers"], **counts})
    yield from (*tables.of_rows(rows), "")


def _capacity(found: Data) -> Iterator[str]:
    yield from ("## 5. How many users can r servers carry?", "", *_by(found, "overhead"))
    if found["overhead"] is None:
        return
    yield from (
        *prose("""Bytes and processor seconds of each party for a million reports; all grow linearly in n. The last
        columns count from the freeze to the histogram: each party on a machine of its own with two cores, passes and
        decryption on both of them, everything else on one, rounds one after another, nothing prepared while users
        submitted. The network is not in it: a gigabit a second moves the ciphertexts of a million reports in 3 seconds
        (384 bytes) or 6 (768). Nor is the inspection of the dummies' rows. What these columns say beyond some
        ten million is arithmetic, not advice: memory and disk grow with n as well (section 11), and the collision bound
        of local hashing is stated for up to thirty million users (docs/limitations.md)."""),
        *tables.of_capacity(found),
        "",
    )
    ready = tables.ready_zeros(found)
    if ready:
        yield from prose(f"Zeros made while users still submit shorten a pass: {ready} a ciphertext.")
    if found["ingest"] is not None:
        rate = min(row["submissions_per_second"] for row in found["ingest"]["rows"])
        yield from prose(f"""Before that, users submit: a shuffler takes in {rate:,} a second (section 9), a million in
        {1e6 / rate / 60:.0f} minutes.""")
    if found["memory"] is not None:
        held = [
            f"{row['part']} ({row['scheme']}) {row['megabytes_at_a_million']:,.0f} MB"
            for row in found["memory"]["at_a_million"]
        ]
        yield from prose(f"What holds most, at a million reports: {'; '.join(held)} (section 11).")
    if found["end-to-end-million"] is not None:
        most = max(found["end-to-end-million"]["cost"], key=lambda row: row["peak_rss"] or 0)
        yield from prose(f"""In a whole run of a million the largest party was {most["party"]}, all its processes
        together {most["peak_rss"] / 1e9:.2f} GB (section 10).""")


def _scaling(found: Data) -> Iterator[str]:
    one = found["scaling"]
    yield from ("## 6. How it grows", "", *_by(found, "scaling"))
    if one is None:
        return
    rows = [
        {"r": line["shufflers"], "passes": line["passes"], "r − t + 1": line["holders"]}
        | {
            "µs a row": line["microseconds_a_row"],
            "furthest point from the line": f"{line['largest_relative_error']:.1%}",
        }
        for line in one["lines"]
    ]
    yield from (
        f"Processor seconds of all shufflers and the analyzer together, {one['scheme']}, freeze and intake left out.",
        f"[The points]({POINTS.name}) are next to the drawing.",
        "",
        f"![Seconds against the number of users, for each number of shufflers]({CURVES.name})",
        "",
        *tables.of_rows(rows),
        "",
    )


def _count(found: Data) -> Iterator[str]:
    one = found["count"]
    yield from ("## 7. Support counts", "", *_by(found, "count"))
    if one is None:
        return
    yield from (
        *prose(f"""d = {one["domain"]}, d' = {one["d_prime"]}. The other way hashes every value under each report's seed
        with XXH32 in numpy; a slice of it was timed ({one["nanoseconds_a_pair"]:.2f} ns a pair) and scaled. A call of
        an xxhash library for each pair would be slower, a compiled loop over pairs faster; there is none in Python with
        numpy."""),
        *tables.of_rows(one["rows"]),
        "",
        f"{one['times_faster']:.0f} times faster.",
        "",
    )


def _cores(found: Data) -> Iterator[str]:
    one = found["cores"]
    yield from ("## 8. Both cores", "", *_by(found, "cores"))
    if one is not None:
        yield from (f"Elapsed, {one['count']:,} ciphertexts.", "", *tables.of_rows(one["rows"]), "")


def _ingest(found: Data) -> Iterator[str]:
    one = found["ingest"]
    yield from ("## 9. Submissions", "", *_by(found, "ingest"))
    if one is not None:
        yield from (
            *prose(f"""Elapsed; {one["submissions"]:,} submissions to one shuffler by {one["streams"]} clients at a
            time, each acknowledged when it is durable."""),
            *tables.of_rows(one["rows"]),
            "",
        )


def _end_to_end(found: Data) -> Iterator[str]:
    yield from ("## 10. Whole collections", "", "Elapsed steps; all parties are processes of one machine.", "")
    for name in ("end-to-end", "end-to-end-jl", "end-to-end-million"):
        one = found[name]
        yield from _by(found, name)
        if one is not None:
            yield from (*tables.of_end_to_end(one), "")


def _memory(found: Data) -> Iterator[str]:
    one = found["memory"]
    yield from ("## 11. Memory", "", *_by(found, "memory"))
    if one is None:
        return
    yield from (
        *prose("""Megabytes that a process holds at most, each part of the work by a process of its own; the second
        table is what the line through two sizes says of a million rows."""),
        *tables.of_rows(one["rows"]),
        "",
        *tables.of_rows(one["at_a_million"]),
        "",
    )


def _mechanisms(found: Data) -> Iterator[str]:
    one = found["mechanisms"]
    yield from ("## 12. Mechanisms", "", *_by(found, "mechanisms"))
    if one is None:
        return
    yield from (
        *prose(f"""{one["reports"]:,} reports, drawn and tallied piece by piece in a process of its own: d =
        {one["domain"]}, ε = {one["epsilon"]:g}."""),
        *tables.of_rows(one["mechanisms"]),
        "",
        "Unary reports of as many values, by the width of a field:",
        "",
        *tables.of_rows(one["fields"]),
        "",
        *prose("""2^20 values: Hadamard response, and what counting as many reports of local hashing would take, scaled
        from a thousand."""),
        *tables.of_rows(one["large"]),
        "",
    )


def _peers(found: Data) -> Iterator[str]:
    one = found["peers"]
    yield from ("## 13. Mechanisms against two libraries", "", *_by(found, "peers"))
    if one is None:
        return
    said = ", ".join(f"{name} {version}" for name, version in one["versions"].items())
    yield from (
        *prose(f"""{said}, in an environment of their own. Microseconds of randomising and aggregating a report, d =
        {one["domain"]}, ε = {one["epsilon"]:g}, Zipf with exponent {one["exponent"]}: ours of {one["reports"]:,}
        reports, theirs of as many as {one["seconds"]:g} seconds allow. Ours draw cryptographic randomness. Errors are
        of the raw estimates, as a part of theirs, of the library that errs less, and measured for themselves
        (`--errors`); HR and HM are pure-ldp's Hadamard
        response and mechanism."""),
        *tables.of_peers(one),
        "",
    )


def _marginals(found: Data) -> Iterator[str]:
    one = found["marginals"]
    yield from ("## 14. Tables of attributes", "", *_by(found, "marginals"))
    if one is None:
        return
    yield from (
        *prose(f"""What the analyzer does with {one["users"]:,} published words of {one["tables"]} hidden tables,
        {one["cells"]:,} cells in all, of 32 attributes, until 100 tables of six attributes are answered: {one["whole"]}
        processor seconds (10 was the bar); at most {one["megabytes"]} MB (1 GB). Simulated errors are extra."""),
        *tables.table(("step", "processor seconds"), list(one["seconds"].items())),
        "",
    )


def _sets(found: Data) -> Iterator[str]:
    one = found["sets"]
    yield from ("## 15. Lists of items", "", *_by(found, "sets"))
    if one is None:
        return
    yield from (
        *prose(f"""{one["users"]:,} lists of {one["mean_size"]} items on average, of {one["items"]:,}, on one core; a
        search is a whole SVIM in memory and without a shuffle, which took at most {one["megabytes"]} MB (1.5 GB was
        the bar)."""),
        *tables.table(
            ("what", "processor seconds", "bar"),
            [(name, seconds, one["bars"][name]) for name, seconds in one["seconds"].items()],
        ),
        "",
    )


def _search(found: Data) -> Iterator[str]:
    one = found["search"]
    yield from ("## 16. Frequent texts", "", *_by(found, "search"))
    if one is None:
        return
    search = one["search"]
    yield from (
        *prose(f"""Counting candidates of keys, in pairs of a report and a candidate, and in milliseconds a report for
        64 prefixes of 2^16 extensions each; and the default search for the 32 most frequent of {search["users"]:,}
        texts of six bytes in memory, {search["candidates"]:,} candidates, F1 {search["f1"]:.2f}. Seconds are of one
        core's processor time; two cores against one are of a clock, of which other programs take their part."""),
        *tables.table(
            ("what", "measured", "bar"),
            [(row["what"].replace("_", " "), f"{row['measured']:.4g}", f"{row['bar']:g}") for row in one["rows"]],
        ),
        "",
    )


def _pem(found: Data) -> Iterator[str]:
    one = found["pem"]
    yield from ("## 17. The prefix extending method, against pure-ldp", "", *_by(found, "pem"))
    if one is None:
        return
    yield from (
        *prose(f"""{one["users"]:,} texts of 16 bits at ε = {one["epsilon"]:g}, the {one["top"]} most frequent, asked
        for by 8, 12 and 16 bits: the same texts, prefixes and number kept, from texts to the answer in processor
        seconds: {one["seconds"]:.3f} against {one["seconds_of_theirs"]:.1f} of pure-ldp {one["versions"]["pure-ldp"]},
        which is {one["times_faster"]:,.0f} times ({one["bar"]:g} was the bar); F1 {one["f1"]:.2f} and
        {one["f1_of_theirs"]:.2f}. The other library hashes every text that there could be for each report."""),
    )


def _rounds(found: Data) -> Iterator[str]:
    one = found["rounds"]
    yield from ("## 18. Rounds of a study", "", *_by(found, "rounds"))
    if one is None:
        return
    for row in one["rows"]:
        study, alone, longer = row["study"], row["collection"], row["longer"]
        yield from (
            *prose(f"""A study of two rounds with {row["users"]:,} users, {study["rounds"][0]:,} in the first, against
            one collection of all of them, with three shufflers and JL, from the first process to the result:
            {study["seconds"]:g} s against {alone["seconds"]:g} s, {longer["seconds"]:g} s longer
            ({one["most_longer"]:g} s at 2,000 users was the bar); of processor time {study["processor_seconds"]:g} s
            against {alone["processor_seconds"]:g} s, {longer["processor_seconds"]:g} s more. Other programs ran on the
            machine's {one["machine"]["cores"]} cores: its load was {row["load"]:.0f} before."""),
            *tables.table(("step of the study", "seconds"), list(study["steps"].items())),
            "",
        )


def _by(found: Data, name: str) -> tuple[str, str]:
    held = "" if found[name] else " (not measured yet)"
    return f"`{COMMANDS[name]}`{held}", ""


def curves(found: Data) -> tuple[str, str]:
    """The drawing of how it grows, and its points."""
    one = found["scaling"]
    assert one is not None, "the page asks only where it was measured"
    by_shufflers: dict[str, list[tuple[float, float]]] = {}
    for point in one["points"]:
        by_shufflers.setdefault(f"r = {point['shufflers']}", []).append((point["users"], point["total_s"]))
    title = f"All shufflers and the analyzer, {one['scheme']}, one core"
    drawn = chart(title, "users", "processor seconds", [Line(name, tuple(at)) for name, at in by_shufflers.items()])
    names = ("shufflers", "users", "passes", "total_s", "pass_s", "analyzer_s", "shuffler_mb", "analyzer_mb")
    rows = [names, *([point[name] for name in names] for point in one["points"])]
    return drawn, "".join(",".join(map(str, row)) + "\n" for row in rows)


def files(found: Data) -> dict[Path, str]:
    """Everything that is generated."""
    made = {PAGE: page(found)}
    if found["scaling"] is not None:
        made[CURVES], made[POINTS] = curves(found)
    return made


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.page", description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write the files; otherwise the page is printed")
    options = parser.parse_args()
    made = files(data())
    if not options.write:
        print(made[PAGE], end="")
        return
    for path, text in made.items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
