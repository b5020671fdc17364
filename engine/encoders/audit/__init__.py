"""The setting audit: the effect of each setting of a model on a few examples, in seconds.

Prompts, poolings, truncation, normalisation and precision are measured on the same examples as the
audited spec, so that a difference has an interval, and noise is not called a loss.
"""

from theodolite.engine.encoders.audit.examples import Examples, some_of
from theodolite.engine.encoders.audit.measure import Audit, Audited, audit
from theodolite.engine.encoders.audit.settings import GROUPS, Setting

__all__ = ["GROUPS", "Audit", "Audited", "Examples", "Setting", "audit", "some_of"]
