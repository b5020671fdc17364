"""SentEval's interface: existing scripts run with only this import changed.

import theodolite.engine.senteval as senteval

se = senteval.engine.SE(params, batcher, prepare)
results = se.eval(["STS12", "MR", "SICKRelatedness"])
"""

from theodolite.engine.senteval import engine, utils

__all__ = ["engine", "utils"]
