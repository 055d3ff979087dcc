"""The public surface, locked."""

import inspect

import pyarrow as pa

import tallytree as tt
from tallytree import errors


def parameters(function: object) -> list[str]:
    assert callable(function)
    return [name for name in inspect.signature(function).parameters if name != "progress"]


def test_public_names() -> None:
    functions = {"count_groups", "evaluate", "list_mechanisms", "load", "mechanism", "read_hierarchy"}
    functions |= {
        "add_intervals",
        "advise",
        "compare",
        "export",
        "group_regions",
        "release",
        "sign",
        "simulate",
        "verify",
    }
    data = {"Bounds", "Engine", "GroupCounts", "Hierarchy", "Ledger", "Measurements", "Plan", "Release"}
    data |= {
        "Advice",
        "Estimate",
        "Estimates",
        "FlagLimits",
        "Simulation",
        "SizeClasses",
        "Solution",
        "Words",
    }
    assert set(tt.__all__) == {"__version__", "Mechanism"} | functions | data
    for name in tt.__all__:
        assert getattr(tt, name) is not None
        assert name in dir(tt)
    assert not hasattr(tt, "nothing")


def test_signatures() -> None:
    assert parameters(tt.Hierarchy.from_paths) == ["levels", "paths", "unique_names"]
    assert parameters(tt.GroupCounts)[:3] == ["hierarchy", "sizes", "leaf"]
    assert parameters(tt.GroupCounts.from_table)[:6] == [
        "table", "regions", "size", "groups", "sizes", "root",
    ]  # fmt: skip
    assert set(parameters(tt.count_groups)) >= {
        "source", "group", "regions", "sizes", "root", "person", "quantity", "max_records", "max_quantity",
        "frame",
    }  # fmt: skip
    assert parameters(tt.mechanism("direct-dp").plan)[:4] == ["hierarchy", "sizes", "epsilon", "budget"]
    assert parameters(tt.mechanism("direct-dp").postprocess) == ["measurements", "total"]
    assert parameters(tt.Measurements) == ["plan", "values"]
    assert parameters(tt.release) == [
        "counts", "epsilon", "mechanism", "budget", "public_totals", "delta", "rho", "total", "protect",
        "noise", "ledger", "dataset", "label", "owner", "words",
    ]  # fmt: skip
    assert parameters(tt.Ledger) == ["place"]
    assert parameters(tt.Ledger.create) == [
        "place", "dataset", "epsilon", "delta", "rho", "protect", "total", "limit", "per",
    ]  # fmt: skip
    assert parameters(tt.simulate) == [
        "counts", "epsilon", "mechanism", "seed", "budget", "public_totals", "delta", "rho", "total",
        "protect",
    ]  # fmt: skip
    assert parameters(tt.advise) == [
        "stand_in", "epsilon", "goal", "mechanism", "bounds", "public_totals", "delta", "total", "protect",
    ]  # fmt: skip
    assert parameters(tt.Advice.write_page) == ["self", "file", "source", "settings"]
    assert parameters(tt.evaluate) == ["run", "counts"]
    assert parameters(tt.load) == ["folder"]
    assert parameters(tt.Release.estimate)[:5] == ["self", "function", "regions", "sizes", "statistic"]
    assert parameters(tt.Release.estimate_areas)[:4] == ["self", "areas", "sizes", "statistic"]
    assert parameters(tt.sign) == ["folder", "key"]
    assert parameters(tt.verify) == ["folder", "key", "sha256", "recompute"]
    assert parameters(tt.export) == ["release", "to", "out", "wide"]
    assert parameters(tt.compare) == ["a", "b", "level", "top", "size", "groups"]


def test_every_error_stands_in_the_tree_that_is_drawn() -> None:
    drawn = [line.partition("── ")[2].split() for line in str(errors.__doc__).splitlines() if "── " in line]
    kinds = [kind for kind in vars(errors).values() if inspect.isclass(kind) and issubclass(kind, Exception)]
    assert {name for name, *_ in drawn} == {kind.__name__ for kind in kinds} - {"TallytreeError"}


def test_counting_as_the_design_writes_it() -> None:
    source = pa.table({"household": [1, 1, 2], "state": ["GA", "GA", "NY"], "county": ["a", "a", "b"]})
    counts = tt.count_groups(
        source, group="household", regions=["state", "county"], sizes=(1, 20), root="US", person=None,
        quantity=None, max_records=1, max_quantity=1, frame=None,
    )  # fmt: skip
    assert counts.hierarchy.levels == ("root", "state", "county")
    assert counts.array(0)[0, :3].tolist() == [1, 1, 0]


def test_the_surface_as_the_design_writes_it() -> None:
    h = tt.Hierarchy.from_paths(levels=["nation", "state"], paths=[("US", "GA"), ("US", "NY")])
    counts = tt.GroupCounts(h, sizes=(1, 5), leaf=[[2, 0, 1, 0, 0], [1, 1, 1, 0, 0]])
    m = tt.mechanism("direct-dp")
    plan = m.plan(h, sizes=(1, 5), epsilon="1", budget=None)
    noisy = tt.Measurements(plan, plan.answers(counts))
    sol = m.postprocess(noisy, total=6)
    assert [level.tolist() for level in sol.counts] == [
        [[3, 1, 2, 0, 0]],
        [[2, 0, 1, 0, 0], [1, 1, 1, 0, 0]],
    ]
    run = tt.simulate(counts, epsilon="1", mechanism="direct-dp", seed=7)
    assert tt.evaluate(run, counts).column_names[:4] == ["level", "l1", "emd", "violations"]
    classes = tt.SizeClasses([1, 2, 5])
    plan = m.plan(h, sizes=classes, epsilon="1", total="private", protect="group")
    firms = tt.GroupCounts(h, sizes=classes, leaf=[[2, 0, 1], [1, 1, 1]])
    assert [level.tolist() for level in plan.answers(firms)] == [[[3, 1, 2]], [[2, 0, 1], [1, 1, 1]]]
    assert tt.release(firms, epsilon="1", total=None, protect="person").total == firms.total
