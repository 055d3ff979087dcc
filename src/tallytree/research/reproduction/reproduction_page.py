"""The page: what was measured, which of the paper's findings hold, the figures, the table, the details."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tallytree.errors import FolderError, InputError, describe, name_choices, show
from tallytree.files import write_whole
from tallytree.research.reproduction.accuracy_claims import (
    Order,
    claim_accuracy,
    claim_taxi_table,
    compare_orders,
    explain_reversals,
)
from tallytree.research.reproduction.details import write_details
from tallytree.research.reproduction.document import (
    Block,
    Claim,
    Figure,
    Heading,
    Items,
    Note,
    Paragraph,
    Table,
    Verdict,
    at_epsilons,
    several,
)
from tallytree.research.reproduction.figures import (
    PUBLIC,
    draw_runtimes,
    draw_scalability,
    draw_totals,
    write_errors,
    write_seconds,
    write_series,
)
from tallytree.research.reproduction.measuring import Tell, describe_machine
from tallytree.research.reproduction.rendering import save_figures, write_html, write_markdown
from tallytree.research.reproduction.run_results import rank, record, select
from tallytree.research.reproduction.runs import FULL, PAPER_SECONDS, QUICK, Settings
from tallytree.research.reproduction.runtime_claims import claim_runtimes, claim_scalability
from tallytree.research.reproduction.study import PARTS, RESULTS, Report, make_report, measure_study
from tallytree.research.reproduction.study_data import load_datasets

# The beginning of the page: what it is, on which data, measured where and when.


def write_opening(report: Report) -> Iterator[Block]:
    """Write what this page is, and what needs attention."""
    settings = report.settings
    yield Heading(1, "The paper's experiments, again")
    yield Paragraph(
        "The experiments of *Differential Privacy of Hierarchical Census Data: An Optimization Approach* "
        "(Fioretto, Van Hentenryck, Zhu), run again by Tallytree with the paper's mechanisms, "
        "`cumulative-joint` (the default here), `count-of-counts` (Kuo et al.) and `cyclic-laplace` (Kohli "
        "and Laskowski), and compared with what the paper published. Every number and verdict below is "
        "computed from the runs; this page is written by `tallytree reproduce`."
    )
    if report.quick:
        yield Note(
            f"A quick look: {count_of(settings.instances)} where the paper has 30 (mechanisms that need a "
            f"general solver: {settings.solver_instances}), and short time limits. Without `--quick` it "
            "takes an hour or two."
        )
    invented = [summary.dataset.title for summary in report.summaries if summary.dataset.invented]
    if invented and len(invented) == len(report.summaries):
        yield Note(
            "No data were given, so **all data are invented**, with the shape of the paper's: errors are "
            "like those on real data, not the same. `--data FOLDER` takes the public tables."
        )


def write_data(report: Report) -> Iterator[Block]:
    """Write what each dataset is."""
    if report.summaries:
        yield Heading(3, "The data")
        yield Items([f"**{one.dataset.title}.** {one.dataset.description}" for one in report.summaries])


def write_run(report: Report) -> Iterator[Block]:
    """Write how it was measured, where and when."""
    settings = report.settings
    yield Heading(2, "How this was measured")
    yield Table(["", ""], [[key, value] for key, value in _list_facts(report)], left=2)
    yield Paragraph(
        f"Epsilon is {', '.join(settings.epsilons)}, split evenly over the levels; noise is drawn from the "
        "number of the instance, so that errors can be repeated to the last digit. Runs go one after the "
        "other, each timed alone: only the post-processing, on warm kernels, which use all processors. A "
        "mechanism that gives no answer in time is ended, and not tried again with a smaller epsilon. "
        f"Mechanisms that need a general solver have {count_of(settings.solver_instances)} at most."
    )


def count_of(instances: int) -> str:
    """Write the number of instances with its noun."""
    return f"{instances} instance{'s' if instances > 1 else ''}"


def _list_facts(report: Report) -> Iterator[tuple[str, str]]:
    settings = report.settings
    days = sorted({outcome.day for outcome in report.outcomes})
    yield "Written", report.day.isoformat()
    if days:
        yield "Measured", days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
        loads = [outcome.load for outcome in report.outcomes]
        yield "Load average while measuring", f"{min(loads):.1f} to {max(loads):.1f}, over a minute"
    yield "Instances", f"{settings.instances}, {settings.solver_instances} at most with a general solver"
    yield (
        "Time limits",
        f"{settings.run_seconds:.0f} s for a run, {settings.small_seconds:.0f} s for mechanisms that are "
        f"for small problems, {settings.synthetic_seconds:.0f} s on the synthetic data",
    )
    yield from report.machine.items()
    yield "Command", f"`{report.command}`"


def write_page(report: Report) -> list[Block]:
    """Write all sections of the requested part."""
    claims = list(_list_claims(report))
    orders = [
        order for summary in report.summaries for order in compare_orders(summary, report.settings.epsilons)
    ]
    return [
        *write_opening(report),
        *_write_short(report, claims, orders),
        *write_data(report),
        Heading(2, "Which of the paper's findings hold"),
        Paragraph(
            "Each claim is the paper's, from the section named; the numbers are of this run, and choose "
            "the words."
        ),
        *claims,
        *(_write_scalability(report) if report.synthetic else ()),
        *(_write_runtimes(report) if _has(report, "runtime") else ()),
        *(_write_totals(report) if _has(report, "accuracy") else ()),
        *(_write_tables(report, orders) if _has(report, "table") else ()),
        *(write_details(report) if _has(report, "accuracy") else ()),
        *write_run(report),
    ]


def _has(report: Report, part: str) -> bool:
    return bool(report.summaries) and report.part in (part, "all")


def _list_claims(report: Report) -> Iterator[Claim]:
    if report.synthetic:
        yield claim_scalability(report)
    if _has(report, "runtime"):
        yield from claim_runtimes(report)
    if _has(report, "accuracy") or _has(report, "table"):
        yield from claim_accuracy(report.summaries, report.settings.epsilons)
        yield claim_taxi_table()


def _write_short(report: Report, claims: Sequence[Claim], orders: Sequence[Order]) -> Iterator[Block]:
    yield Heading(2, "In short")
    counts = {verdict: sum(claim.verdict == verdict for claim in claims) for verdict in Verdict}
    told = several(
        f"{count} {verdict.value if count == 1 else _PLURAL[verdict]}"
        for verdict, count in counts.items()
        if count
    )
    texts = [f"Of {len(claims)} claims of the paper, {told}."]
    texts += [claim.short for claim in claims if claim.short]
    texts += [_tell_orders(orders)] if orders else []
    texts += list(_tell_best(report))
    yield Items(texts)


def _tell_best(report: Report) -> Iterator[str]:
    """Describe the least total error among mechanisms of equal privacy."""
    best: dict[str, list[str]] = {}
    for summary in report.summaries if report.part != "runtime" else ():
        firsts = [
            (epsilon, f"`{rank(fair)[0].label}`")
            for epsilon in report.settings.epsilons
            if (fair := [result for result in select(summary.results, epsilon) if result.is_fair])
        ]
        if firsts:
            best.setdefault(at_epsilons(firsts), []).append(summary.dataset.title)
    if best:
        told = "; on ".join(f"{several(where)}, {label}" for label, where in best.items())
        yield (
            "The least total L1 error among mechanisms that have the stated epsilon and are told the total "
            f"number of groups only: on {told}."
        )


_PLURAL = {
    Verdict.HOLDS: "hold",
    Verdict.PARTLY: "hold in part",
    Verdict.FAILS: "do not hold",
    Verdict.UNKNOWN: "were not measured",
}


def _tell_orders(orders: Sequence[Order]) -> str:
    same, close = sum(order.same for order in orders), sum(order.close for order in orders)
    turned = sum(len(order.reversals) for order in orders)
    return (
        f"Order of the mechanisms level by level, where privacy is equal: of {same + close + turned} pairs "
        f"(of mechanisms, at a level and an epsilon, on the data of the paper's table), {same} stand as in "
        f"the paper, {close} are too close to tell, and {turned} stand the other way round"
        + (", each with its reason below." if turned else ".")
    )


def _write_scalability(report: Report) -> Iterator[Block]:
    settings = report.settings
    yield Heading(2, "Runtime against N")
    yield Paragraph(
        "On the synthetic data: the invented city of the Taxi data without the taxis that have more than N "
        f"pickups, epsilon {settings.synthetic_epsilon} (the paper does not say which it took). The best of "
        f"up to {settings.synthetic_calls} calls, on warm kernels. Each mechanism has "
        f"{report.synthetic_limit:.0f} s; the paper waited for {PAPER_SECONDS // 60} minutes. *Tables* "
        "are the paper's own dynamic programmes, where ours is another. *Published* is the paper's "
        "calibration of the chain; with sound noise the chain's tables are too large even here."
    )
    yield draw_scalability(report)
    series = report.list_series()
    yield write_series(series, settings.synthetic_sizes)
    refusals = [
        f"`{each.variant.label}` cannot do N = {each.stop.sizes}: {each.stop.failure.reason}"
        for each in series
        if each.stop and not each.stop.failure.timed_out
    ]
    if refusals:
        yield Items(refusals)


def _write_runtimes(report: Report) -> Iterator[Block]:
    yield Heading(2, "Runtime by mechanism and epsilon")
    yield draw_runtimes(report)
    for summary in report.summaries:
        facts = summary.dataset.facts
        yield Heading(3, f"{summary.dataset.title}: {sum(facts.regions):,} regions, {facts.largest:,} sizes")
        yield write_seconds(summary, report.settings.epsilons)


def _write_totals(report: Report) -> Iterator[Block]:
    yield Heading(2, "L1 error by mechanism and epsilon")
    yield draw_totals(report)


def _write_tables(report: Report, orders: Sequence[Order]) -> Iterator[Block]:
    yield Heading(2, "The table: L1 per level and violations")
    yield Paragraph(
        "Ours as mean ± standard deviation, the paper's own figures beside them (it gives means of 30 "
        "runs). L1 is in thousands of groups, for Taxi too, where the paper's unit is ten thousand. "
        "*Violations* are the regions and sizes whose subregions do not add up to them; the paper counts "
        "subtrees. *True epsilon* is what the noise is worth, **bold** where it is not the one stated."
    )
    yield Note(
        f"{PUBLIC} `count-of-counts` and `cyclic-laplace` take each region's number of groups as public: "
        "their privacy is not comparable with that of the others, which are told the total number of groups "
        "only."
    )
    for summary in report.summaries:
        invented = ", invented data" if summary.dataset.invented else ""
        yield Heading(3, f"{summary.dataset.title}{invented}")
        yield write_errors(summary, report.settings.epsilons)
    if orders:
        yield Heading(2, "The order of the mechanisms, level by level")
        yield Paragraph(
            f"{_tell_orders(orders)} *Too close*: not clear here at 95 % by Student's t, on the instances "
            "that both mechanisms have, or equal in the paper."
        )
        rows = [
            [
                order.summary.dataset.title,
                order.level,
                str(order.same + order.close + len(order.reversals)),
                str(order.same),
                str(order.close),
                str(len(order.reversals)),
            ]
            for order in orders
        ]
        yield Table(
            ["dataset", "level", "pairs", "as in the paper", "too close", "other way round"], rows, left=2
        )
        reversals = [reversal for order in orders for reversal in order.reversals]
        if reversals:
            yield Heading(3, "Why some stand the other way round")
            yield Items(list(explain_reversals(reversals)))


# From the data to the page.

FIGURES, PAGE, MARKDOWN, DATA = "figures", "page.html", "page.md", "results.json"


@dataclass(frozen=True)
class Reproduction:
    """What a reproduction has produced."""

    folder: Path
    blocks: Sequence[Block]
    obstacle: str | None
    """Why the figures are available as SVG only; None if they are not."""


def choose_settings(*, quick: bool, instances: int | None, timeout: float | None) -> Settings:
    """Return the default settings, with the requested changes."""
    settings = QUICK if quick else FULL
    if instances is not None:
        if instances < 1:
            raise InputError(f"The number of instances must be at least 1, not {instances}.")
        settings = replace(settings, instances=instances)
    if timeout is not None:
        if not 0 < timeout < float("inf"):
            raise InputError("The time limit must be a positive number of seconds.")
        settings = settings.wait(timeout)
    return settings


def reproduce(
    part: str, *, data: Path | None, settings: Settings, quick: bool, out: Path, command: str, tell: Tell
) -> Reproduction:
    """Measure what is not known yet, and write the page with its figures; ``out`` keeps the results."""
    if part not in PARTS:
        raise InputError(f"There is no part {show(part)}: {name_choices(part, PARTS)}")
    machine = describe_machine()  # first, before we add to the load
    datasets = load_datasets(data)
    _make_folders(out)
    study = measure_study(part, datasets, settings, out, tell)
    report = make_report(study, part, machine=machine, command=command, quick=quick)
    blocks = write_page(report)
    obstacle = save_figures((block for block in blocks if isinstance(block, Figure)), out / FIGURES)
    write_whole(out / MARKDOWN, write_markdown(blocks, FIGURES).encode())
    write_whole(out / PAGE, write_html(blocks).encode())
    write_whole(out / DATA, write_results(report).encode())
    return Reproduction(out, blocks, obstacle)


def write_results(report: Report) -> str:
    """Write the results as JSON, by dataset, with a line for each row."""
    parts = (
        f"{json.dumps(summary.dataset.name)}: [\n" + ",\n".join(map(json.dumps, record(summary))) + "\n]"
        for summary in report.summaries
    )
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _make_folders(out: Path) -> None:
    """Make the folders before anything is measured, so that a read-only place is not found hours later."""
    try:
        for name in (RESULTS, FIGURES):
            (out / name).mkdir(parents=True, exist_ok=True)
        write_whole(out / RESULTS / ".writable", b"")
        (out / RESULTS / ".writable").unlink()
    except (OSError, ValueError) as error:
        why = describe(error) if isinstance(error, OSError) else "no file can have such a name"
        raise FolderError(f"{show(out, most=150)} cannot be written: {why}.") from None
