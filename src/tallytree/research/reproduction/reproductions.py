"""From the data to the page."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tallytree.errors import FolderError, InputError, describe, name_choices, show
from tallytree.files import write_whole
from tallytree.research.reproduction.document import Block, Figure
from tallytree.research.reproduction.measuring import Tell, describe_machine
from tallytree.research.reproduction.rendering import save_figures, write_html, write_markdown
from tallytree.research.reproduction.reproduction_page import write_page
from tallytree.research.reproduction.runs import FULL, QUICK, Settings
from tallytree.research.reproduction.study import PARTS, RESULTS, make_report, measure_study
from tallytree.research.reproduction.study_data import load_datasets

FIGURES, PAGE, MARKDOWN = "figures", "page.html", "page.md"


@dataclass(frozen=True)
class Reproduction:
    """What was made."""

    folder: Path
    blocks: Sequence[Block]
    obstacle: str | None
    """Why the figures are there as SVG only, if so."""


def choose_settings(*, quick: bool, instances: int | None, timeout: float | None) -> Settings:
    """The usual ones, with what is asked for."""
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
    """Measure what is not known yet, and write the page with its figures; ``out`` keeps what is known."""
    if part not in PARTS:
        raise InputError(f"There is no part {show(part)}: {name_choices(part, PARTS)}")
    machine = describe_machine()  # first: the load is then not our own
    datasets = load_datasets(data)
    _make_folders(out)
    study = measure_study(part, datasets, settings, out, tell)
    blocks = write_page(make_report(study, part, machine=machine, command=command, quick=quick))
    obstacle = save_figures((block for block in blocks if isinstance(block, Figure)), out / FIGURES)
    write_whole(out / MARKDOWN, write_markdown(blocks, FIGURES).encode())
    write_whole(out / PAGE, write_html(blocks).encode())
    return Reproduction(out, blocks, obstacle)


def _make_folders(out: Path) -> None:
    """Before anything is measured: a place that cannot be written to must not be found out hours later."""
    try:
        for name in (RESULTS, FIGURES):
            (out / name).mkdir(parents=True, exist_ok=True)
        write_whole(out / RESULTS / ".writable", b"")
        (out / RESULTS / ".writable").unlink()
    except (OSError, ValueError) as error:
        why = describe(error) if isinstance(error, OSError) else "no file can have such a name"
        raise FolderError(f"{show(out, most=150)} cannot be written: {why}.") from None
