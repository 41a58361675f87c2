"""What is taken away of a result: its page, and its rows as CSV or as Parquet."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from analyzer.report import write_report
from peos import tabular
from peos.errors import WrongInput
from peos.store.private_files import write_durably

OF: Final = {"values": tabular.of_result, "rounds": tabular.rounds_of}


@dataclass(frozen=True)
class TakeAway:
    """Files to write, those that were asked for; `of` says what a row is of."""

    html: Path | None = None
    csv: Path | None = None
    parquet: Path | None = None
    of: str = "values"

    def require(self) -> None:
        """Refuse what could not be written, before a result is waited for."""
        if self.of not in OF:
            raise WrongInput("input.command", f"rows are of {' or '.join(OF)}, not of {self.of[:60]!r}")
        for path in (self.html, self.csv, self.parquet):
            if path is not None and (path.is_dir() or not path.parent.is_dir()):
                id_, what = ("input.page", "page") if path is self.html else ("input.file_unwritable", "rows")
                raise WrongInput(
                    id_, f"the {what} cannot be written to {path}", hint="name a file in a folder that exists"
                )
        if self.parquet is not None:
            tabular.needed("pyarrow", "parquet")

    def write(self, found: Mapping[str, Any], say: Callable[[str], None]) -> None:
        """Durably, for their owner alone."""
        if self.html is not None:
            write_report(self.html, found)
            say(f"the report is {self.html}")
        if self.csv is not None:
            write_durably(self.csv, [OF[self.of](found).to_csv().encode()])
            say(f"the {self.of} are in {self.csv}")
        if self.parquet is not None:
            write_durably(self.parquet, [OF[self.of](found).to_parquet()])
            say(f"the {self.of} are in {self.parquet}")
