"""What no error can exceed: counts that are not negative and add up to G are at most 2 G from the truth."""

from tallytree.reproduction.document import Claim, Verdict
from tallytree.reproduction.published import TAXI, TAXIS
from tallytree.reproduction.variants import list_contenders
from tallytree.reproduction.wording import number

ROOT = 0


def claim_taxi_table() -> Claim:
    """Whether the Taxi half of the paper's table can be about the data that it describes."""
    bound = 2 * TAXIS
    keeps = {variant.make().symbol for variant in list_contenders() if variant.make().consistent}
    figures = [
        1000 * value
        for table in TAXI.values()
        for symbol, line in table.items()
        if symbol in keeps
        for value in line.l1
    ]
    beyond = [value for value in figures if value > bound]
    at_ten = [
        symbol
        for symbol, line in TAXI["0.1"].items()
        if symbol in keeps and round(line.l1[ROOT] / 10, 1) == round(bound / 1000, 1)
    ]
    return Claim(
        "Table, Taxi half",
        f"Its L1 errors, in units of ten thousand, are those of {TAXIS:,} groups.",
        Verdict.FAILS,
        f"That cannot be. Counts that are not negative and add up to G are at most 2 G = {bound:,} from the "
        f"truth at each level. Of the {len(figures)} figures of mechanisms that keep the sums, {len(beyond)} "
        f"are larger, up to {number(max(beyond) / bound)} times.",
        f"The errors of {' and '.join(at_ten)} at the root, at epsilon 0.1, are ten times 2 G to the "
        "digits given, as if the unit were a thousand and nothing of the data were left there; at the other "
        "levels that does not help. The paper's taxis were counted in some other way than it says, so its "
        "Taxi figures are shown for what they are, and nothing about their size is concluded from them.",
    )
