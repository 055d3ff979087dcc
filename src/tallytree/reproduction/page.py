"""The page: what was measured, which of the paper's findings hold, the figures, the table, the details."""

from collections.abc import Iterator, Sequence

from tallytree.reproduction.accuracy_claims import claim_accuracy
from tallytree.reproduction.bounds import claim_taxi_table
from tallytree.reproduction.details import write_details
from tallytree.reproduction.document import Block, Claim, Heading, Items, Note, Paragraph, Table, Verdict
from tallytree.reproduction.figures import draw_runtimes, draw_scalability, draw_totals
from tallytree.reproduction.opening import write_data, write_opening, write_run
from tallytree.reproduction.orders import Order, compare_orders, explain_reversals
from tallytree.reproduction.report import Report
from tallytree.reproduction.results import rank, select
from tallytree.reproduction.runtime_claims import claim_runtimes, claim_scalability
from tallytree.reproduction.settings import PAPER_SECONDS
from tallytree.reproduction.tables import PUBLIC, write_errors, write_seconds, write_series
from tallytree.reproduction.wording import at_epsilons, several


def write_page(report: Report) -> list[Block]:
    """All sections that the part which was asked for has."""
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
    """The least total error among mechanisms of equal privacy."""
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
        f"{PUBLIC} `count-of-counts` takes each region's number of groups as public and keeps it exactly: "
        "its privacy is not comparable with that of the others, which are told the total number of groups "
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
