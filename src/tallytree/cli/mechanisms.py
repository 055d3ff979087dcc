"""``tallytree mechanisms``."""

from tallytree.cli.console import Json, print_json, print_table


def mechanisms(as_json: Json = False) -> None:
    """List the mechanisms: what each measures, promises and costs."""
    from tallytree.mechanisms.registry import DEFAULT, MECHANISMS

    facts = [
        {
            "name": kind.name,
            "symbol": kind.symbol,
            "summary": kind.summary,
            "query": kind.query.name,
            "exact": kind.exact,
            "consistent": kind.consistent,
            "cost": kind.cost,
            "reference": kind.reference,
            "default": kind.name == DEFAULT,
        }
        for kind in MECHANISMS
    ]
    if as_json:
        print_json(facts)
        return
    columns = ["name", "symbol", "summary", "exact", "consistent", "cost", "reference"]
    rows = [
        ["yes" if fact[c] is True else "no" if fact[c] is False else str(fact[c]) for c in columns]
        for fact in facts
    ]
    print_table("Mechanisms", columns, rows, left=len(columns))
