"""Python's cyclic collector, set up for a process in which millions of values live long and hold no cycles.

Owns: how often it runs. Never: `gc.freeze` while blocks load, which is the journal's.
"""

import gc

_YOUNG = 100_000
"""Values that are made before the youngest are walked: more than a full block holds, so that most are gone by then.
With Python's 700 the walks take a fifth of the chain thread's time."""


def tune_collector() -> None:
    """Leave out everything that start-up made and collect rarely. Call it once the libraries are imported."""
    gc.freeze()
    gc.set_threshold(_YOUNG, 20, 20)
