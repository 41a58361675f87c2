"""report.html: a collection's result for somebody who did not build the system, in one file that asks for "
"nothing else.

    page       the whole page, and writing it
    values     which values are shown, and their table
    chart      the same as a drawing
    promises   the guarantees, and what is not claimed
    record     who took part, what each party spent, what was checked, the digest
    words      text and numbers as a reader sees them; everything that comes from outside is escaped there
    page.css   the look, in light and dark, on a phone, on a desk and on paper

It shows what result.json holds and nothing else, so that nothing can leak that was not published.
"""

from analyzer.report.page import REPORT, page, write_report

__all__ = ["REPORT", "page", "write_report"]
