"""``tallytree demo``."""

from pathlib import Path
from typing import Annotated

import typer

from tallytree.cli.console import (
    Json,
    print_intervals,
    print_json,
    print_next_step,
    print_opening,
    print_release,
    print_table,
    print_text,
    print_usefulness,
    print_warning,
    publish_and_tell,
    show_progress,
    summarize,
)
from tallytree.privacy.budget import show_exact

WIDTH = 30
PLANNED = (1, 10)
"""The sizes of the plan."""
REPLICATES = 10
"""Few, so that the demonstration is short."""


def demo(
    out: Annotated[
        Path, typer.Option(help="The folder to write; an earlier demo there is replaced.", metavar="DIR")
    ] = Path("tallytree-demo"),
    epsilon: Annotated[str, typer.Option(help="The privacy budget, such as 1 or 0.1.", metavar="E")] = "1",
    as_json: Json = False,
) -> None:
    """Release an invented nation, and show how far off the counts are.

    51 states, 3,143 counties, 117 million households by 1 to 1,000 people. It needs no data, and takes half a
    minute. The errors may be shown because nobody needed protection; a real release has none to show. Beside
    the folder it writes a page for choosing epsilon.
    """
    from tallytree.datasets.invented import generate_nation
    from tallytree.mechanisms.registry import DEFAULT
    from tallytree.privacy.budget import Budget
    from tallytree.publishing.pipeline import Account, Order, release_within
    from tallytree.research.evaluation import evaluate

    counts = generate_nation()
    order = Order.of(
        Budget(epsilon=epsilon), mechanism=DEFAULT, noise=None, sizes=counts.sizes, bounds=counts.bounds
    )
    done = publish_and_tell(
        lambda progress: release_within(order, counts, Account(None), warn=print_warning, progress=progress),
        out,
        replace=_is_demo(out),
        replicates=REPLICATES,
        quiet=as_json,
    )
    made = done.release
    errors = evaluate(made, counts).to_pylist()
    page = _write_plan(out, epsilon, quiet=as_json)
    if as_json:
        print_json({**summarize(made, done.verification, str(out)), "errors": errors, "page": str(page)})
        return
    print_text(
        f"An invented nation of {made.total:,} households, released at epsilon = "
        f"{show_exact(made.epsilon)} with {made.manifest['mechanism']['name']}."
    )
    print_text("")
    print_release(made, done.verification)
    print_intervals(made)
    print_usefulness(made.usefulness, made.words)
    print_table(
        "How far off (shown because the data are invented)",
        ["level", "regions", "households moved", "share of all", "mean per region"],
        [
            [
                row["level"],
                f"{len(made.hierarchy.regions(row['level'])):,}",
                f"{row['l1'] // 2:,}",
                f"{50 * row['l1'] / made.total:.4f} %",
                f"{row['l1'] / 2 / len(made.hierarchy.regions(row['level'])):,.1f}",
            ]
            for row in errors
        ],
    )
    _print_sizes(made.counts[0][0].tolist(), counts.array(0)[0].tolist())
    print_next_step(out)
    print_opening(out)
    print_text(f"How epsilon would be chosen beforehand, with a slider: {page}")


def _write_plan(out: Path, epsilon: str, *, quiet: bool) -> Path:
    """Write the page for choosing epsilon beside the folder, for few sizes: it takes some seconds."""
    from tallytree.datasets.invented import generate_nation
    from tallytree.mechanisms.registry import DEFAULT
    from tallytree.planning.advice import advise
    from tallytree.planning.release_settings import list_settings
    from tallytree.words import Words

    page = out.with_name(f"{out.name}-plan.html")
    with show_progress(quiet=quiet) as progress:
        advice = advise(generate_nation(sizes=PLANNED), epsilon=epsilon, mechanism=DEFAULT, progress=progress)
        words = Words(group="household", member="person/people")
        settings = list_settings(advice.stand_in, words=words)
        advice.write_page(page, source="an invented nation", settings=settings, progress=progress)
    return page


def _is_demo(folder: Path) -> bool:
    """Whether a folder is the release of an earlier demo, the only thing that a demo replaces."""
    from tallytree.datasets.invented import INVENTED
    from tallytree.errors import FolderError
    from tallytree.releases.manifest import parse_manifest, read_manifest
    from tallytree.releases.released import MANIFEST

    try:
        manifest = parse_manifest(read_manifest(folder / MANIFEST).decode())
    except (OSError, UnicodeDecodeError, FolderError):
        return False
    assumed = manifest["privacy"].get("assumed")
    return isinstance(assumed, list) and INVENTED in assumed


def _print_sizes(released: list[int], true: list[int], shown: int = 10) -> None:
    """The nation's distribution as bars; the truth beside it, which only a demonstration may show."""
    rows = [
        [str(i + 1), "█" * round(WIDTH * released[i] / max(released)), f"{released[i]:,}", f"{true[i]:,}"]
        for i in range(shown)
    ]
    rest = slice(shown, None)
    rows.append([f"{shown + 1} and more", "", f"{sum(released[rest]):,}", f"{sum(true[rest]):,}"])
    print_table("Households by size, nation", ["people", "", "released", "true"], rows, left=2)
