"""`peos demo`: an analyzer, shufflers and users as separate processes over TLS, and the estimates next to the truth."""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from peos.cli.demo_results import FOLDER, conclude
from peos.cli.demo_task import demo_task
from peos.cli.options import POST_PROCESS, real, require_no_more, whole
from peos.errors import WrongInput
from peos.registry import DEFAULT_PROTOCOL, DEFAULT_SCHEME, MECHANISMS, PROTOCOLS, SCHEMES, TASKS

if TYPE_CHECKING:
    from rich.console import Console

    from peos.localrun import Clock

ALPHA: Final = 1e-6  # that all estimates lie within their bounds fails by chance with this probability
SHOWN: Final = 20
TARGET: Final = 1.0
_FOUND: Final = {True: "yes", False: "no", None: "not known"}
_UNLESS: Final = f"[default: {TARGET}; none of a mechanism that claims its local ε only]"


def demo(
    context: typer.Context,
    users: Annotated[int, whole("--users", help="Number of users.", least=1)] = 2000,
    shufflers: Annotated[int, whole("--shufflers", help="Number of shufflers.")] = 3,
    domain: Annotated[int, whole("--domain", help="Number of values.")] = 64,
    question: Annotated[str | None, typer.Option(help="Question, as users see it.", metavar="TEXT")] = None,
    labels: Annotated[
        list[str] | None,
        typer.Option("--label", help="Answer; repeat it for each, in place of --domain.", metavar="TEXT"),
    ] = None,
    delta: Annotated[float, real("--delta", help="Probability with which a guarantee may fail.")] = 1e-6,
    eps_server: Annotated[
        float | None,
        real("--eps-server", help=f"Target ε against the analyzer, alone or with few shufflers. {_UNLESS}"),
    ] = None,
    eps_users: Annotated[
        float | None, real("--eps-users", help=f"Target ε against the analyzer and all other users. {_UNLESS}")
    ] = None,
    eps_local: Annotated[float, real("--eps-local", help="Target ε if everyone else colludes.")] = 4.0,
    fakes: Annotated[str, typer.Option(help="Number of fake reports.", metavar="auto|K")] = "auto",
    mechanism: Annotated[str, typer.Option(help="Local mechanism.", metavar=f"auto|{MECHANISMS.choices}")] = "auto",
    scheme: Annotated[
        str | None,
        typer.Option(help=f"Encryption scheme [default: {DEFAULT_SCHEME}]", metavar=SCHEMES.choices),
    ] = None,
    protocol: Annotated[
        str, typer.Option(help="Shuffle protocol; ss is a baseline that protects less.", metavar=PROTOCOLS.choices)
    ] = DEFAULT_PROTOCOL,
    asked: Annotated[
        str | None, typer.Option("--post-process", help=POST_PROCESS, metavar="METHOD|auto[:GOAL]")
    ] = None,
    task: Annotated[
        str | None,
        typer.Option(
            help="Task to run as a study, in place of one question over a list; its own options follow: --bytes 3.",
            metavar=TASKS.choices,
        ),
    ] = None,
    records: Annotated[
        Path | None,
        typer.Option(help="File of what users hold: one JSON value a line, or a .txt of texts.", metavar="FILE"),
    ] = None,
    seed: Annotated[int | None, whole("--seed", help="Seed of the users' true values, and of nothing else.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the results; created if missing.", metavar="FOLDER")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print result.json.")] = False,
) -> None:
    """Run a whole collection on this machine (separate processes, TLS, real encryption); print estimates and truth."""
    if task is not None:
        _refuse_flat(context, task, ("domain", "question", "labels", "mechanism", "asked", "protocol"))
        shared = ("users", "delta", "eps_server", "eps_users", "eps_local", "fakes", "scheme")
        typed = {name: context.params[name] for name in shared if _is_typed(context, name)}
        demo_task(
            *(task, context.args, typed),
            records=records,
            shufflers=shufflers,
            seed=seed,
            out=out,
            as_json=as_json,
        )
        return
    require_no_more(context)
    from rich.console import Console

    from peos.localrun import local_spec, run_locally, zipf_values
    from peos.protocols import NEEDS_NO_LEAVE
    from peos.store.private_files import writable_folder

    if labels:
        if _is_typed(context, "domain"):
            raise WrongInput("input.command", "--domain and --label were both given", hint="leave one of them out")
        domain = len(labels)
    if asked is not None:
        from peos.estimate.post_processing.published import post_processed, require

        require(asked, domain)  # before minutes are spent
    console = Console(stderr=as_json, highlight=False)
    if _is_accounted(mechanism, domain):
        eps_server, eps_users = (TARGET if target is None else target for target in (eps_server, eps_users))
    wanted = {"delta": delta, "eps_server": eps_server, "eps_users": eps_users, "eps_local": eps_local}
    chosen = {"fakes": fakes, "mechanism": mechanism, "scheme": scheme, "protocol": protocol}
    spec = local_spec(users, domain, question=question, labels=labels or (), **wanted, **chosen)
    spec.plan(shufflers)  # what cannot be met is said before anything is started
    folder = writable_folder(out or FOLDER)  # nor is it run for nothing
    values = zipf_values(users, domain, seed)
    with tempfile.TemporaryDirectory(prefix="peos-demo-") as scratch:
        published, clock = run_locally(
            Path(scratch),
            values,
            shufflers=shufflers,
            spec=spec,
            console=console,
            protocols=tuple(dict.fromkeys((*NEEDS_NO_LEAVE, protocol))),
        )
    result = _compare(published, values, clock)
    if asked is not None:
        result["post_processed"] = post_processed(result, asked)
    conclude(result, folder, console, _show, as_json=as_json)


def _is_typed(context: typer.Context, name: str) -> bool:
    """Whether an option was given, and not left at its default."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _refuse_flat(context: typer.Context, task: str, names: tuple[str, ...]) -> None:
    for name in names:
        if _is_typed(context, name):
            option = {"asked": "post-process", "labels": "label"}.get(name, name)
            raise WrongInput(
                "plan.not_of_a_task",
                f"--{option} is of one question over a list, and {task[:80]} is asked",
                hint="leave one of them out",
            )


def _is_accounted(mechanism: str, domain: int) -> bool:
    """Whether anything is known of its reports in a shuffle; of a name that is none the plan says so."""
    from peos.privacy.exact_search import is_known

    return mechanism not in MECHANISMS or is_known(MECHANISMS[mechanism], domain)


def _compare(result: dict[str, Any], values: list[int], clock: "Clock") -> dict[str, Any]:
    """The truth next to the estimates, and the checks that decide whether the demo holds."""
    from statistics import NormalDist

    import numpy as np

    users, domain = len(values), result["parameters"]["domain"]
    truth = np.bincount(values, minlength=domain) / users
    off = MECHANISMS[result["parameters"]["mechanism"]].deviations(result, truth)
    bound = -NormalDist().inv_cdf(ALPHA / (2 * off.size))
    result["truth"] = truth.tolist()
    result["dropped"] = users - result["users"]
    result["seconds"] = clock.steps
    result["deviation"] = {"largest": float(off.max()), "bound": bound, "alpha": ALPHA}
    inspected = result["checks"].get("inspection")
    result["checks"] = {
        "conservation": bool(result["checks"]["dummies"]),  # every dummy came back exactly
        "digests": bool(result["checks"]["digests"]),
        "everybody_counted": result["dropped"] == 0,
        "estimates": bool(off.max() <= bound),
    }
    if result["inspection"] is not None:  # not every protocol has something to open
        opened = not result["inspection"]["not_opened"]
        result["checks"]["inspection"] = opened and bool(inspected)
    result["ok"] = all(result["checks"].values())
    return result


def _show(result: dict[str, Any], folder: Path, console: "Console") -> None:
    from rich.table import Table

    from peos.estimate.frequency import BEYOND
    from peos.estimate.post_processing import OF_THE_RAW

    table = Table(title=f"{result['users']:,} users, {result['fakes']:,} fakes, {result['parameters']['mechanism']}")
    processed = result["post_processed"]
    after = [] if processed is None else [f"after {processed['method']}"]
    significant = result["significant"] or [None] * len(result["truth"])
    for column in ("value", "estimate", "95 % interval", *after, "truth", "found"):
        table.add_column(column, justify="right")
    order = sorted(range(len(result["truth"])), key=lambda value: -result["frequency"][value])[:SHOWN]
    for value in order:
        low, high = result["interval95"][value]
        row = (result["labels"][value], f"{result['frequency'][value]:.4f}", f"{low:.4f} … {high:.4f}")
        also = [f"{processed['frequency'][value]:.4f}" for _ in after]
        table.add_row(*row, *also, f"{result['truth'][value]:.4f}", _FOUND[significant[value]])
    console.print(table)
    if not all(0 <= result["frequency"][value] <= 1 for value in order):
        console.print(BEYOND, soft_wrap=True)
    for sentence in (OF_THE_RAW, *processed["notes"]) if processed else ():
        console.print(sentence)
    if len(result["truth"]) > SHOWN:
        console.print(
            f"the {SHOWN} largest estimates of {len(result['truth'])} values; all are in {folder / 'result.json'}"
        )
