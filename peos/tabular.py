"""Rows of named columns, as which estimates, plans, answers and published results are shown and taken away.

    estimate.to_dataframe()                       # pandas; estimate.plot() is matplotlib's
    of_result(json.loads(text)).to_csv()          # a row a value of a result.json; `rounds_of` has a row a round

What is `Tabular` gets a data frame, a drawing, a table in a notebook and a short repr of its rows.
"""

import csv
import io
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib import import_module
from itertools import product
from typing import Any, Final, Self

from peos.errors import WrongInput

Cell = str | int | float | bool | None
Columns = Mapping[str, Sequence[Cell]]

_SHOWN: Final = 20  # rows of a table in a notebook
_DRAWN: Final = 30
_BEGINNINGS: Final = frozenset("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")  # of what spreadsheets run, also wide ones


class Tabular(ABC):
    """Something that is rows to look at; `rows()` are all of them, `summary` is cheap."""

    @property
    @abstractmethod
    def summary(self) -> str:
        """What the rows are, in half a sentence."""

    @abstractmethod
    def rows(self) -> "Rows":
        """Columns by name."""

    def to_dataframe(self) -> Any:
        """A pandas.DataFrame of all rows, in their own order."""
        return needed("pandas", "notebook").DataFrame(
            {name: list(cells) for name, cells in self.rows().columns.items()}
        )

    def plot(self, axes: Any = None) -> Any:
        """Bars with their intervals on matplotlib's axes, the largest first; hollow where noise may be all there is."""
        pyplot = needed("matplotlib.pyplot", "notebook")
        rows = self.rows()
        shown = rows.first(_DRAWN)
        if axes is None:
            axes = pyplot.subplots(figsize=(6.4, 1.2 + 0.28 * len(shown)), layout="constrained")[1]
        for place, row in enumerate(shown):
            is_noise = row.get("found") is False
            axes.barh(place, row[rows.measure], color="none" if is_noise else "#3f7fc1", edgecolor="#3f7fc1")
            if row.get("low") is not None:
                axes.hlines(place, row["low"], row["high"], colors="#14181c")
        # A dollar would begin a formula.
        axes.set_yticks(range(len(shown)), [rows.name_of(row).replace("$", r"\$") for row in shown])
        axes.invert_yaxis()
        axes.axvline(0, color="#51585f", linewidth=0.8)
        axes.set_xlabel(rows.measure)
        return axes

    def _repr_html_(self) -> str:
        """The largest rows, for a notebook."""
        return self.rows().html()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.summary}>"


@dataclass(frozen=True, repr=False)
class Rows(Tabular):
    """Columns of equal length; `measure` is the one that is drawn."""

    about: str
    columns: Columns
    measure: str = "frequency"

    @property
    def summary(self) -> str:
        """As it was made."""
        return self.about

    def rows(self) -> Self:
        """These."""
        return self

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def first(self, most: int) -> list[dict[str, Any]]:
        """So many rows: of one list the largest, else as they are."""
        places: Iterable[int] = range(len(self))
        if self.measure == "frequency" and "table" not in self.columns:
            measured: Any = self.columns[self.measure]
            places = sorted(places, key=lambda place: -measured[place])
        return [{name: cells[place] for name, cells in self.columns.items()} for place in list(places)[:most]]

    def name_of(self, row: Mapping[str, Cell]) -> str:
        """What a row is called: what comes before its first number."""
        before = list(self.columns)[: list(self.columns).index(self.measure)]
        return ", ".join(str(row[name]) for name in before if row[name] not in (None, ""))

    def html(self) -> str:
        """A table, every text in it escaped."""
        shown, names = self.first(_SHOWN), list(self.columns)
        head = "".join(f"<th>{escape(name)}</th>" for name in names)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(_shown(row[name]))}</td>" for name in names) + "</tr>" for row in shown
        )
        left = len(self) - len(shown)
        rest = f"<p>… and {left:,} more rows; to_dataframe() has all.</p>" if left else ""
        caption = f"<caption>{escape(self.summary)}</caption>"
        return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"

    def to_csv(self) -> str:
        """As RFC 4180 has it, with names in the first line; a text that a spreadsheet would run has a ' before it."""
        made = io.StringIO()
        writer = csv.writer(made)
        writer.writerow(map(_harmless, self.columns))
        for row in zip(*self.columns.values(), strict=True):
            writer.writerow(map(_written, row))
        return made.getvalue()

    def to_parquet(self) -> bytes:
        """A Parquet file, texts as they are."""
        arrow, parquet = needed("pyarrow", "parquet"), needed("pyarrow.parquet", "parquet")
        kinds = {str: arrow.string(), int: arrow.int64(), bool: arrow.bool_(), float: arrow.float64()}
        fields = [(name, kinds[_kind(name, cells)]) for name, cells in self.columns.items()]
        made = io.BytesIO()
        arrays = [
            arrow.array(list(cells), kind) for cells, (_, kind) in zip(self.columns.values(), fields, strict=True)
        ]
        parquet.write_table(arrow.Table.from_arrays(arrays, schema=arrow.schema(fields)), made)
        return made.getvalue()


def of_values(about: str, labels: Mapping[str, Sequence[Cell]], found: Mapping[str, Any]) -> Rows:
    """A row for each estimate, called as the columns `labels` say; `found` has the arrays under result.json's names."""
    low, high = zip(*_plain(found["interval95"]), strict=True) if len(found["frequency"]) else ((), ())
    significant = found.get("significant")
    of = {"frequency": _plain(found["frequency"]), "stderr": _plain(found["stderr"]), "low": low, "high": high}
    judged = [None] * len(found["frequency"]) if significant is None else _plain(significant)
    return Rows(about, {**labels, **of, "found": judged})


def of_result(found: Mapping[str, Any]) -> Rows:
    """A row a value of a result.json: of its list, and of the tables and rules that a study's answer may have.

    With a demonstration's truth, and what post-processing made of the list. Values stay in the order of the file.
    """
    blocks = [_block("", [[label] for label in found["labels"]], found, _beside(found))]
    for one in found.get("tables") or ():
        blocks.append(_block(" by ".join(map(str, one["attributes"])), product(*one["cells"]), one, {}))
    if found.get("rules"):
        blocks.append(_block("rules", [[label] for label in found["rules"]["labels"]], found["rules"], {}))
    if len(blocks) == 1:
        blocks[0].pop("table")
    names = list(dict.fromkeys(name for block in blocks for name in block))
    names.sort(key=lambda name: (name != "table", not name.startswith("label")))
    columns = {
        name: [cell for block in blocks for cell in block.get(name, [None] * len(block["frequency"]))] for name in names
    }
    asked = (found.get("collection") or {}).get("question") or (found.get("task") or {}).get("name") or "a collection"
    return Rows(f"{asked}: {found['users']:,} users", columns)


def rounds_of(found: Mapping[str, Any]) -> Rows:
    """A row a round of a result.json, those that were aborted too: its users, and what it cost them."""
    rounds = found.get("rounds") or ()
    claims = [epsilons(one["guarantees"]) if one.get("guarantees") else (None, None, None) for one in rounds]
    server, users, local = zip(*claims, strict=True) if claims else ((), (), ())
    plain = {name: [one.get(name) for one in rounds] for name in ("name", "state", "reason", "users", "fakes")}
    delta = [one["guarantees"]["server"]["delta"] if one.get("guarantees") else None for one in rounds]
    columns = {**plain, "eps_server": server, "eps_users": users, "eps_local": local, "delta": delta}
    return Rows(f"{len(rounds)} round{'s' * (len(rounds) != 1)}", columns, measure="users")


def epsilons(claims: Mapping[str, Any]) -> tuple[float, float, float]:
    """The least ε_c, ε_s and ε_l that a result.json claims."""
    local: float = claims["local"]

    def least(claim: Mapping[str, float | None]) -> float:
        return min(value for value in (claim["theorem"], claim["exact"], local) if value is not None)

    return least(claims["server"]), least(claims["users"]), local


def _beside(found: Mapping[str, Any]) -> dict[str, Sequence[Cell]]:
    beside: dict[str, Sequence[Cell]] = {} if found.get("truth") is None else {"truth": found["truth"]}
    if processed := found.get("post_processed"):
        beside[f"after {processed['method']}"] = processed["frequency"]
    return beside


def _block(
    table: str, labels: Iterable[Sequence[object]], of: Mapping[str, Any], beside: Mapping[str, Sequence[Cell]]
) -> dict[str, Sequence[Cell]]:
    called = [[str(cell) for cell in label] for label in labels]
    parts = len(called[0]) if called else 1
    named = {f"label_{at + 1}" if at else "label": [label[at] for label in called] for at in range(parts)}
    flat = {name: _flat(of[name], depth) for name, depth in (("frequency", 1), ("stderr", 1), ("interval95", 2))}
    rows = of_values(table, named, {**flat, "significant": of.get("significant")})
    return {"table": [table] * len(called), **rows.columns, **beside}


def _flat(numbers: Any, depth: int) -> list[Any]:
    """Axes within axes as one, but for pairs."""
    found = list(numbers)
    while found and _depth(found) > depth:
        found = [one for row in found for one in row]
    return found


def _depth(numbers: Any) -> int:
    return 1 + _depth(numbers[0]) if isinstance(numbers, list | tuple) and numbers else 0


def _plain(numbers: Any) -> list[Any]:
    return list(numbers.tolist() if hasattr(numbers, "tolist") else numbers)


def _kind(name: str, cells: Sequence[Cell]) -> type:
    """Of the cells that there are; of a column without any, by its name."""
    kinds = {type(cell) for cell in cells if cell is not None}
    if not kinds:
        return {"found": bool, "reason": str}.get(name, float)
    return float if kinds == {int, float} else kinds.pop()


def _written(cell: Cell) -> object:
    if isinstance(cell, bool):
        return json.dumps(cell)
    return _harmless(cell) if isinstance(cell, str) else cell


def _harmless(text: str) -> str:
    """Spreadsheets run a text that begins like a formula, whatever file it is from; with a ' before it they show it."""
    return f"'{text}" if {text[:1], text.lstrip()[:1]} & _BEGINNINGS else text


def _shown(cell: Cell) -> str:
    match cell:
        case None:
            return ""
        case bool():
            return "yes" if cell else "no"
        case float():
            return f"{cell:.4g}"
    return str(cell)


def needed(module: str, extra: str) -> Any:
    """A package that an extra of ours installs."""
    try:
        return import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise WrongInput(
            "extra.missing",
            f"{package} is not installed, which the extra {extra} brings",
            hint=f"pip install 'peos[{extra}]'",
        ) from None
