"""How far released numbers may be from the true ones: bias, standard errors and intervals.

All of it is computed from the release alone: the mechanism is run repeatedly on the released counts, as if
they were the truth, to see what errors it may have made on the truth (parametric bootstrap). That is
post-processing, and costs no privacy.
"""
