"""`peos plan`: parameters for a collection, with what they guarantee, how exact they are and what they cost."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from peos.cli.options import real, require_no_more, whole
from peos.cli.plan_task import plan_task
from peos.errors import WrongInput
from peos.registry import DEFAULT_SCHEME, MECHANISMS, SCHEMES, TASKS

if TYPE_CHECKING:
    from rich.console import Console

    from peos.privacy import Claim, Plan
    from peos.privacy.guarantees import Guarantees


OF_A_TASK: Final = {"allow_extra_args": True, "ignore_unknown_options": True}  # which has options of its own


def plan(
    context: typer.Context,
    users: Annotated[int, whole("--users", help="Number of honest users expected.")],
    delta: Annotated[float, real("--delta", help="Probability with which a guarantee may fail.")],
    domain: Annotated[int | None, whole("--domain", help="Number of values, unless a task is planned.")] = None,
    task: Annotated[
        str | None,
        typer.Option(
            help="Task to plan in place of one question over a list; its own options follow, as --bytes 6 --top 8.",
            metavar=TASKS.choices,
        ),
    ] = None,
    eps_server: Annotated[
        float | None, real("--eps-server", help="Target ε against the analyzer, alone or with few shufflers.")
    ] = None,
    eps_users: Annotated[
        float | None, real("--eps-users", help="Target ε against the analyzer and all other users.")
    ] = None,
    eps_local: Annotated[float | None, real("--eps-local", help="Target ε if everyone else colludes.")] = None,
    fakes: Annotated[
        str, typer.Option(help="Number of fake reports that the shufflers add.", metavar="auto|K")
    ] = "auto",
    mechanism: Annotated[str, typer.Option(help="Local mechanism.", metavar=f"auto|{MECHANISMS.choices}")] = "auto",
    d_prime: Annotated[int | None, whole("--d-prime", help="Number of hash values, of local hashing.")] = None,
    signs: Annotated[int | None, whole("--signs", help="Number of signs, of Hadamard response.")] = None,
    size: Annotated[int | None, whole("--size", help="Number of values in a set, of subset selection.")] = None,
    field_bits: Annotated[
        int | None, whole("--field-bits", help="Number of bits of a field, of unary encoding.")
    ] = None,
    accounting: Annotated[str, typer.Option(help="How guarantees are computed.", metavar="exact|theorem")] = "exact",
    shufflers: Annotated[int, whole("--shufflers", help="Number of shufflers.")] = 3,
    scheme: Annotated[
        str, typer.Option(help="Encryption scheme; decides the costs.", metavar=SCHEMES.choices)
    ] = DEFAULT_SCHEME,
    plot: Annotated[
        Path | None, typer.Option(help="File for a plot of error against the analyzer's ε.", metavar="FILE.svg")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Choose mechanism, ε, d' and fakes of least error for given privacy targets."""
    if task is not None:
        flat = ("domain", "mechanism", "signs", "size", "field_bits", "accounting", "scheme", "plot")
        for name in flat:
            source = context.get_parameter_source(name)
            if source is not None and source.name == "COMMANDLINE":
                raise WrongInput(
                    "plan.not_of_a_task",
                    f"--{name.replace('_', '-')} is of one question over a list, and {task[:80]} is planned",
                    hint="leave one of them out",
                )
        plan_task(
            task,
            context.args,
            {
                "users": users,
                "delta": delta,
                "eps_server": eps_server,
                "eps_users": eps_users,
                "eps_local": eps_local,
                "d_prime": d_prime,
                "fakes": int(fakes) if fakes.isdecimal() else fakes,
                "shufflers": shufflers,
            },
            as_json=as_json,
        )
        return
    require_no_more(context)
    if domain is None:
        raise WrongInput("input.command", "either --domain or --task is needed", hint="see peos plan --help")
    # Arrays and special functions take a moment to load, which --help need not spend.
    from peos.privacy import plan as find_plan

    if plot is not None:
        _check_plot(plot, eps_server)
    found = find_plan(
        users,
        domain,
        delta,
        eps_server=eps_server,
        eps_users=eps_users,
        eps_local=eps_local,
        fakes=fakes,
        mechanism=mechanism,
        d_prime=d_prime,
        signs=signs,
        size=size,
        field_bits=field_bits,
        accounting=accounting,
        shufflers=shufflers,
        scheme=scheme,
    )
    if as_json:
        typer.echo(json.dumps(found.to_json(), indent=2, ensure_ascii=False))
    else:
        from rich.console import Console

        _print(found, Console(highlight=False))
    if plot is not None and eps_server is not None:
        _draw(plot, found, eps_server, eps_users, eps_local)


def _check_plot(path: Path, eps_server: float | None) -> None:
    """Said before anything is computed."""
    if path.suffix.lower() != ".svg":
        raise WrongInput("plan.drawing", f"the drawing is an SVG file, not {path.name!r}", hint="name it FILE.svg")
    if not path.parent.is_dir():
        raise WrongInput(
            "plan.drawing",
            f"there is no folder {path.parent}",
            hint="make it, or choose another place for the drawing",
        )
    if eps_server is None:
        raise WrongInput(
            "plan.drawing", "the drawing is of error against the analyzer's ε", hint="give --eps-server as well"
        )


def _draw(path: Path, found: "Plan", server: float, others: float | None, local: float | None) -> None:
    from rich.console import Console

    from peos.cli.progress import bar
    from peos.drawing import Line, chart
    from peos.privacy.curves import POINTS, Curve, curves_of
    from peos.privacy.guarantees import power

    curves: list[Curve] = []
    with bar("drawing") as progress:
        for number, now in enumerate(curves_of(found, server, others=others, local=local), start=1):
            curves = now
            progress(number, POINTS)
    console = Console(stderr=True)
    title = f"{found.users:,} users, {found.domain:,} values, {found.fakes:,} fake reports, δ = {power(found.delta)}"
    lines = [Line(curve.name, curve.points) for curve in curves]
    drawn = chart(title, "ε against the analyzer", "standard error of a frequency", lines, mark=server)
    path.write_text(drawn, encoding="utf-8")
    for curve in curves:
        if not curve.points:
            console.print(f"{curve.name}: claims nothing here", highlight=False)
    console.print(f"the drawing is {path}", highlight=False)


def _print(found: "Plan", console: "Console") -> None:
    from rich.table import Table

    from peos.ldp.base import symbol

    choice = Table(show_header=False, box=None, pad_edge=False)
    shown = "".join(f", {symbol(name)} = {value:,}" for name, value in found.randomizer.shown.items())
    choice.add_row("mechanism", _named(found.mechanism) + shown)
    choice.add_row("fake reports", f"{found.fakes:,}")
    choice.add_row("standard error", f"{found.stderr:.3g} of a rare value's frequency (MSE {found.mse:.3g})")
    choice.add_row("95 % interval", f"± {found.halfwidth95:.3g}")
    cost = found.cost
    choice.add_row("a user", f"sends {cost.user_bytes:,} bytes, computes {_ms(cost.user_ms)} ms")
    choice.add_row("a shuffler", f"sends {cost.shuffler_mb:,.1f} MB, computes up to {cost.shuffler_s:,.1f} s")
    choice.add_row("the analyzer", f"receives {cost.analyzer_mb:,.1f} MB, computes {cost.analyzer_s:,.1f} s")
    if found.runner_up:
        other = found.runner_up
        choice.add_row("runner-up", f"{_named(other.mechanism)}, {other.fakes:,} fake reports, MSE {other.mse:.3g}")

    console.print(f"{found.users:,} users, {found.domain:,} values, {found.shufflers} shufflers", style="bold")
    console.print(choice)
    console.print()
    print_claims(found.guarantees, console)
    for note in found.notes:
        console.print(f"\nNote: {note}.")


def print_claims(claims: "Guarantees", console: "Console") -> None:
    """What holds against whom, and because of what."""
    from rich.table import Table

    from peos.privacy.guarantees import rounded_up

    held = Table(box=None, pad_edge=False)
    for heading in ("what holds against", "ε", "δ", "because of"):
        held.add_column(heading, overflow="fold")
    for claim in (claims.server, claims.users):
        held.add_row(claim.coalition, rounded_up(claim.epsilon), *_ground(claim))
    held.add_row(claims.anyone, rounded_up(claims.local), "0", "each user's own randomness")
    console.print(held)
    if claims.server.assumed:
        console.print(f"\n{claims.server.assumed}", soft_wrap=True)


def _named(mechanism: str) -> str:
    return f"{MECHANISMS[mechanism].short} ({mechanism})"


def _ms(milliseconds: float) -> str:
    """Whole ones, unless there are few of them."""
    return f"{milliseconds:,.0f}" if milliseconds >= 10 else f"{milliseconds:.2g}"


def _ground(claim: "Claim") -> tuple[str, str]:
    """δ, and what the claim's least ε rests on."""
    from peos.privacy.guarantees import power

    if claim.epsilon == claim.local:
        return "0", "each user's own randomness"
    if claim.epsilon == claim.exact:
        return power(claim.delta), "the shuffle, by exact accounting"
    return power(claim.delta), "the shuffle, by the theorem"
