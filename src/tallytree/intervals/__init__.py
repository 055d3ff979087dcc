"""How far released numbers may be from the true ones: bias, standard errors and intervals.

All of it is made from the release alone: the mechanism is run again and again on the released counts, as if
they were the truth, and what it does to them is what it may have done to the truth. That is post-processing,
and costs no privacy.
"""
