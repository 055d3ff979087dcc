"""What became of a job: a run, or a mechanism that did not manage."""

from dataclasses import dataclass

from tallytree.reproduction.children import Failure
from tallytree.reproduction.runs import Job, Run


@dataclass(frozen=True)
class Outcome:
    """A finished job, with when it was done and what else the machine was doing."""

    job: Job
    result: Run | Failure
    limit: float
    """How many seconds it had."""
    day: str
    load: float
    """The load average over a minute, just before."""
    is_passing: bool = False
    """It did not even begin, as without its solver: another time it may."""

    def rules_out(self, job: Job) -> bool:
        """Whether it fails so that ``job`` need not be tried: no more privacy asked for, on no more sizes.

        With a smaller epsilon there is more noise, and more for cost tables to hold.
        """
        return (
            isinstance(self.result, Failure)
            and self.job.variant == job.variant
            and float(job.epsilon) <= float(self.job.epsilon)
            and job.sizes >= self.job.sizes
        )

    def is_settled(self, limit: float) -> bool:
        """Whether it would be the same with this limit: only one that ran out of time may not be."""
        if isinstance(self.result, Failure) and self.result.timed_out:
            return self.limit >= limit
        return True
