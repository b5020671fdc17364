"""The pooling doctor: which pooling fits a checkpoint, and why.

A wrong pooling is the commonest cause of SimCSE numbers that cannot be reproduced. This reads the
files only; `engine.encoders.audit` measures.
"""

from __future__ import annotations

from theodolite.engine.encoders.loading import checkpoint_of
from theodolite.engine.encoders.pooling_choice import PoolingDiagnosis, examine


def diagnose(source: str) -> PoolingDiagnosis:
    """Diagnose a source as a spec has it, e.g. `hf:ID?pooling=cls_token` or `dir:FOLDER`."""
    spec, checkpoint = checkpoint_of(source)
    checkpoint.check()
    return examine(checkpoint, spec.option("pooling"))
