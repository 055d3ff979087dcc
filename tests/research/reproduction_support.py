"""Small datasets and made-up results for the tests of the reproduction."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from types import TracebackType

from tallytree.datasets.census import make_census, read_county_table
from tallytree.datasets.invented import generate_city
from tallytree.datasets.kuo_taxis import read_taxi_table
from tallytree.research.reproduction import paper_figures
from tallytree.research.reproduction.paper_figures import Variant, find_figures
from tallytree.research.reproduction.run_results import Missing, Result, Spread, Summary
from tallytree.research.reproduction.runs import QUICK, Failure, Settings
from tallytree.research.reproduction.study_data import CENSUS, KUO, TAXI, Dataset
from tests.datasets.test_datasets_census import invent_table
from tests.datasets.test_datasets_kuo import invent_taxis

TABLE = read_county_table(invent_table())
HIERARCHY = TABLE.hierarchy
LEVELS = ("nation", "state", "county")
JOINT, MATCHED, TOPDOWN = Variant("cumulative-joint"), Variant("count-of-counts"), Variant("topdown")
DIRECT, CUMULATIVE = Variant("direct-dp"), Variant("cumulative-dp")
RELAXED, CUMULATIVE_RELAXED = Variant("direct-qp"), Variant("cumulative-qp")


def make_datasets() -> list[Dataset]:
    """All three kinds, with a few regions and sizes."""
    census = make_census(TABLE, largest=10)
    city = generate_city(3)
    kuo = read_taxi_table(invent_taxis())
    return [
        Dataset(CENSUS, "Census", census, 7, paper_figures.CENSUS_TABLE, False, "Small."),
        Dataset(TAXI, "Taxi", city, 2, paper_figures.TAXI_TABLE, True, "**Invented**, small."),
        Dataset(KUO, "Kuo's taxis", kuo, 3, paper_figures.NOTHING, False, "Small."),
    ]


SETTINGS = replace(QUICK, instances=2, synthetic_sizes=(2, 3), synthetic_calls=2)


class HereAndNow:
    """In the place of a child: the same work, in this process."""

    def __init__(self, job: Callable[[], Iterable[object]]) -> None:
        self._outcomes: Iterator[object] = iter(job())

    def receive(self, most_seconds: float = 600.0) -> object:
        """A limit of a second or less is always too short for what is for small problems."""
        return next(self._outcomes)

    def __enter__(self) -> "HereAndNow":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None


def make_result(
    variant: Variant,
    total: float,
    *,
    epsilon: str = "1",
    violations: float = 0,
    deviation: float = 0.1,
    seconds: float = 1.0,
    small: float | None = None,
    figures: paper_figures.Published = paper_figures.CENSUS_TABLE,
) -> Result:
    """A tenth of the error at each of two levels and the rest at the third."""
    levels = [Spread(share * total, deviation, 30) for share in (0.1, 0.1, 0.8)]
    return Result(
        variant=variant,
        epsilon=epsilon,
        real_epsilon=variant.make().plan(HIERARCHY, sizes=(1, 2), epsilon=epsilon).epsilon,
        leaf_scale=Fraction(6),
        l1=levels,
        total=Spread(total, deviation, 30),
        small_leaf=levels[-1] if small is None else Spread(small * 0.8 * total, deviation, 30),
        emd=levels,
        violations=Spread(violations, 0, 30),
        seconds=Spread(seconds, 0.0, 30),
        paper=find_figures(variant, epsilon, figures),
    )


def set_errors(result: Result, l1: Sequence[float], emd: Sequence[float], epsilon: str = "1") -> Result:
    """The same with other errors."""
    l1_spreads, emd_spreads = ([Spread(value, 0.1, 30) for value in values] for values in (l1, emd))
    return replace(
        result, l1=l1_spreads, total=Spread(sum(l1), 0.1, 30), emd=emd_spreads, epsilon=epsilon,
        real_epsilon=Fraction(epsilon),
    )  # fmt: skip


def summarise(*results: Result, name: str = CENSUS, missing: Sequence[Missing] = ()) -> Summary:
    """On the dataset of that name."""
    (dataset,) = [each for each in make_datasets() if each.name == name]
    return Summary(dataset, results, missing)


def give_up(variant: Variant, *, timed_out: bool = True, epsilon: str = "1") -> Missing:
    """After a minute."""
    failure = Failure("no answer within 60 s", timed_out=True) if timed_out else Failure("too large.")
    return Missing(variant, [epsilon], failure.reason, failure.timed_out, 60.0)


def choose(**changes: object) -> Settings:
    """The small settings, with changes."""
    return replace(SETTINGS, **changes)  # type: ignore[arg-type]
