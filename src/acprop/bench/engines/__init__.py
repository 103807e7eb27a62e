"""Engines: where runs are carried out, behind one small interface.

An engine opens a crew: workers in processes of this machine (`local`), on the nodes of
a Ray cluster (`ray`), or in the queue of SLURM (`slurm`). A crew takes jobs, and says
how far they are and how they ended. What to do next is decided in one place for all of
them, `acprop.bench.execute`; what a worker does with a job is the same for all, `work`.
"""

from acprop.bench.engines.contract import Crew, End, Engine, Event, Job
from acprop.bench.engines.local import LocalEngine

__all__ = ["Crew", "End", "Engine", "Event", "Job", "LocalEngine"]
