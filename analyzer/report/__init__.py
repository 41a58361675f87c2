"""report.html: a collection's result for readers who did not build the system, in one file that loads nothing else.

    page          the whole page, and writing it
    report.html   its text
    template      templates that escape every value, for this page and others
    parts.html    what more than one page has
    page.css      the look, in light and dark, on a phone, on a desk and on paper
    values        which values are shown
    chart         where everything in their drawing is
    guarantees    the claims, one card a coalition
    epochs        the same question at other times, next to it
    facts         who took part, what each party spent, what was checked
    formatting    numbers and labels as a reader sees them

It shows what result.json holds and nothing else, so that nothing can leak that was not published.
"""

from analyzer.report.epochs import compared
from analyzer.report.page import REPORT, page, write_report

__all__ = ["REPORT", "compared", "page", "write_report"]
