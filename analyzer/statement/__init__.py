"""A statement for the privacy officer: of one collection or study, before or after, all on one page.

    contents        the statement as a value, from the signed document, the ledger and the result
    page            it as a page to print, and as lines for a terminal
    statement.html  the page's text

It holds nothing secret: what it says is in the document that users and shufflers get, in the result, and in the ledger.
"""
