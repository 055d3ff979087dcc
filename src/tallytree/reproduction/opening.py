"""The beginning of the page: what this is, on which data, measured where and when."""

from collections.abc import Iterator

from tallytree.reproduction.document import Block, Heading, Items, Note, Paragraph, Table
from tallytree.reproduction.report import Report


def write_opening(report: Report) -> Iterator[Block]:
    """What this is, and what must not be overlooked."""
    settings = report.settings
    yield Heading(1, "The paper's experiments, again")
    yield Paragraph(
        "The experiments of *Differential Privacy of Hierarchical Census Data: An Optimization Approach* "
        "(Fioretto, Van Hentenryck, Zhu), run again by Tallytree with the paper's mechanisms, "
        "`cumulative-joint` (the default here) and `count-of-counts` (Kuo et al.), and compared with what "
        "the paper published. Every number and verdict below is computed from the runs; this page is "
        "written by `tallytree reproduce`."
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
    """What each dataset is."""
    if report.summaries:
        yield Heading(3, "The data")
        yield Items([f"**{one.dataset.title}.** {one.dataset.description}" for one in report.summaries])


def write_run(report: Report) -> Iterator[Block]:
    """How it was measured, where and when."""
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
    """One instance, several instances."""
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
