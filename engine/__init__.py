"""The computational core: encoders, data sets, tasks, geometry.

    from theodolite.engine import evaluate, load

    for result in evaluate(load("wordllama"), "starter"):
        print(result.task, result.error or round(result.main.score, 2))

Importing this module does not import torch.
"""

import logging

from theodolite.engine.encoders import load

# Imported eagerly: otherwise the module of the same name would shadow the function.
from theodolite.engine.evaluate import evaluate

__all__ = ["evaluate", "load"]

# A failed task is a result with an error; its traceback goes to the log, if one is set up.
logging.getLogger(__name__).addHandler(logging.NullHandler())
