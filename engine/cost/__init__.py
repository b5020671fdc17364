"""Cost estimates: the amount of work, times speed measured on this machine.

An evaluation, a training and a decoder each count their own work (`engine.tasks.cost`, and the
`estimate.py` of `engine.training` and of `engine.decoding`). The speed is measured here, by short
runs of the real work: `speed` times encoders and updates of weights, `classifiers` the training and
comparisons of a task.
"""
