"""Who took part, what each party spent, what was checked, and the digest by which all of it can be compared."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from analyzer.report.words import NOT_RECORDED, moment, seconds, size, text, whole
from peos.privacy.guarantees import rounded_up
from peos.protocols import protocol_named

_MECHANISMS: Final = {
    "grr": "randomised response over all values (grr): each device sends the user's answer or, with a fixed "
    "probability, a value drawn evenly from all",
    "solh": "local hashing (solh): each device draws a hash function, and sends it with the hash of the user's "
    "answer or, with a fixed probability, with a hash value drawn evenly",
    "sue": "unary encoding (sue): each device sends one bit for every value, each of them flipped with a fixed "
    "probability",
}
_ROLES: Final = ("analyzer", "users")
_CHECKS: Final = {
    "dummies": "Every dummy came out of the shuffle exactly. The analyzer had put these reports in and committed to "
    "them beforehand, so that lost or replaced reports would be noticed.",
    "conservation": "Every dummy came out of the shuffle exactly: nothing was lost, replaced or counted twice where "
    "it would show.",
    "digests": "All parts of the output came from one attempt at the shuffle, of parties that agree on "
    "everything said in it.",
    "inspection": "What the shufflers opened of their work, the dummies' rows step by step, shows no fault of any "
    "of them.",
    "everybody_counted": "Every user of the demonstration was counted.",
    "estimates": "Every estimate lies within its bound of the truth.",
}


def asked(found: Mapping[str, Any]) -> str:
    """What was asked, when, and who took part."""
    about, parameters = found.get("collection") or {}, found["parameters"]
    cells = parameters["d_prime"]
    names = about.get("shufflers")
    protocol = protocol_named(parameters["protocol"])
    lines = {
        "Question": text(about.get("question", NOT_RECORDED)),
        "Epoch": text(about.get("epoch") or "none was named"),
        "Values": f"{whole(parameters['domain'])} possible answers",
        "Published": moment(about.get("published_at")),
        "Open until": f"{moment(about.get('closes_at'))}, or until the analyst closed it",
        "Analyzer": text(about.get("analyzer", NOT_RECORDED)),
        "Shufflers": _names(names) if names else f"{whole(parameters['shufflers'])}; names {NOT_RECORDED}",
        "Users counted": whole(found["users"]),
        "Minimum": f"{whole(about.get('minimum'))}; with fewer nothing would have been shuffled",
        "Dropped out": whole(
            found["dropped"], missing="not known: the analyzer does not see who gave up before the close"
        ),
        "Fake reports": f"{whole(found['fakes'])}, {text(protocol.about.fakes)}",
        "Mechanism": text(_MECHANISMS.get(parameters["mechanism"], parameters["mechanism"])),
        "Parameters": f"ε_l = {rounded_up(parameters['eps_local'])}, δ = {parameters['delta']:g}"
        + ("" if cells is None else f", d' = {whole(cells)}"),
        "Encryption": f"{text(parameters['scheme'])}; shuffle protocol {text(protocol.about.kind + protocol.name)}",
    }
    rows = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in lines.items())
    return f'<dl class="facts">{rows}</dl>'


def _names(names: Iterable[object]) -> str:
    return f"<ol>{''.join(f'<li><bdi>{text(name)}</bdi></li>' for name in names)}</ol>"


def costs(found: Mapping[str, Any]) -> str:
    """A row for each party; who was not measured has a row that says so."""
    measured = {str(row["party"]): row for row in found["cost"]}
    shufflers = [str(name) for name in (found.get("collection") or {}).get("shufflers", ())]
    lines = [
        # An organisation may call itself what it likes: a role's row is never taken for it.
        (f"shuffler {number} ({name})", {} if name in _ROLES else measured.get(name, {}))
        for number, name in enumerate(shufflers, start=1)
    ]
    others = [name for name in measured if name in _ROLES or name not in shufflers]
    lines += [(name, measured.get(name, {})) for name in dict.fromkeys([*others, *_ROLES])]
    rows = "".join(_cost(name, row) for name, row in lines)
    heads = "".join(f'<th scope="col">{head}</th>' for head in ("Party", "Seconds", "Sent", "Received", "Peak memory"))
    if found["truth"] is None:
        note = (
            "The analyzer counts its own: the seconds that passed from the complete output to the estimates. It does "
            "not see what others spend; each shuffler's operator finds the bytes with <code>peos shuffler status "
            "--json</code>."
        )
    else:
        note = "Seconds of processor time, all of a party's processes together; all users ran as one process."
    return (
        '<table class="costs"><caption>What each party spent. Seconds to a tenth, below one to a hundredth; '
        "bytes and memory to three digits, 1 MB being a million "
        f"bytes.</caption><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table><p>{note}</p>"
    )


def _cost(name: str, row: Mapping[str, Any]) -> str:
    cells = [seconds(row.get("seconds")), *(size(row.get(what)) for what in ("sent", "received", "peak_rss"))]
    return f'<tr><th scope="row"><bdi>{text(name)}</bdi></th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'


def checks(found: Mapping[str, Any]) -> str:
    """Every check of result.json, those that this page has no words for under their own names."""
    rows = "".join(_check(str(name), held) for name, held in found["checks"].items())
    off = found.get("deviation")
    more = (
        ""
        if off is None
        else f"<p>The estimate farthest from its truth is {off['largest']:.2f} standard errors away. By chance "
        f"alone any would be beyond {off['bound']:.2f} with a probability of at most {off['alpha']:g}.</p>"
    )
    return (
        '<table class="checks"><caption>Nothing is published unless every check of the analyzer '
        "holds.</caption><thead><tr>"
        f'<th scope="col">Check</th><th scope="col">Outcome</th></tr></thead><tbody>{rows}</tbody></table>'
        f"{_inspected(found)}{more}"
    )


def _inspected(found: Mapping[str, Any]) -> str:
    """How far the inspection went: that nothing was found says little if little was opened."""
    seen = found.get("inspection")
    if seen is None:
        why = protocol_named(found["parameters"]["protocol"]).about.uninspected
        return why and f'<p class="inspected"><strong>No work was inspected:</strong> {text(why)}</p>'
    names = list((found.get("collection") or {}).get("shufflers", ()))
    closed = [
        f"shuffler {who} ({text(names[who - 1])})" if who <= len(names) else f"shuffler {who}"
        for who in seen["not_opened"]
    ]
    told = f"The rows of {whole(seen['dummies'])} dummies were inspected."
    if not seen["dummies"]:
        told = "<strong>No row was inspected,</strong> so that nothing could have been found."
    if closed:
        told += (
            f" The rows of {', '.join(closed)} were not seen, so that nothing is known of their work: "
            "<strong>the analyst had the result published without them.</strong>"
        )
    return f'<p class="inspected">{told}</p>'


def _check(name: str, held: object) -> str:
    words = _CHECKS.get(name) or f"{name.replace('_', ' ').capitalize()}."
    match held:
        case True:
            kind, outcome = "holds", "holds"
        case False:
            kind, outcome = "fails", "FAILS"
        case None:
            kind, outcome = "other", "not carried out"
        case _:
            kind, outcome = "other", text(held)
    return f'<tr><th scope="row">{text(words)}</th><td class="{kind}">{outcome}</td></tr>'


def digest(found: Mapping[str, Any]) -> str:
    """The digest, what it stands for, and whom to ask for theirs."""
    return (
        f'<p><code class="digest">{text(found["digest"])}</code></p>'
        "<p>This is the SHA-256 of the collection document, which was fixed before the first user answered: "
        "question, epoch, mechanism, encryption key, shufflers, fake reports, minimum and times. To verify it, ask "
        "the shufflers, not over this page: <code>peos shuffler status --json</code> prints it under "
        "<code>collection</code>, and a user's own device with <code>peos client status --json</code>. If theirs is "
        "another, this page is about another collection than theirs.</p><p>The numbers here are those of result.json "
        "beside this page, rounded. Neither file is signed: have them from the analyzer's operator, over a way that "
        "you trust.</p>"
    )
