"""``tallytree mechanisms``."""

from tallytree.cli.console import Json, print_json, print_text


def mechanisms(as_json: Json = False) -> None:
    """List the mechanisms: what each measures, promises and costs.

    Any that is consistent can make a release, with --mechanism; the first is the default. Those for small
    problems, by general solvers, are for comparison and need the extra solvers.
    """
    from tallytree.mechanisms.registry import DEFAULT, MECHANISMS

    facts = [
        {
            "name": kind.name,
            "revision": kind.revision,
            "symbol": kind.symbol,
            "summary": kind.summary,
            "query": kind.query.name,
            "exact": kind.exact,
            "consistent": kind.consistent,
            "cost": kind.cost,
            "small": kind.small,
            "reference": kind.reference,
            "caveat": kind.caveat,
            "default": kind.name == DEFAULT,
        }
        for kind in MECHANISMS
    ]
    if as_json:
        print_json(facts)
        return
    for fact in facts:
        print_text(f"{fact['name']}  ({fact['symbol']}){'  default' if fact['default'] else ''}")
        print_text(f"  {fact['summary']}")
        print_text(f"  {'exact' if fact['exact'] else 'not exact'}, ", end="")
        print_text("consistent" if fact["consistent"] else "not consistent: cannot make a release")
        print_text(f"  cost: {fact['cost']}{' (for small problems only)' if fact['small'] else ''}")
        print_text(f"  see: {fact['reference']}")
        if fact["caveat"]:
            print_text(f"  beware: {fact['caveat']}")
