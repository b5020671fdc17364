"""Cost estimates: the amount of work, times speed measured on this machine.

An evaluation, a training and a decoder each count their own work (`engine.tasks.cost`, and the
`estimate.py` of `engine.training` and of `engine.decoding`). How fast it goes is measured here, on
the real thing for a moment: `speed` times encoders and updates of weights, `classifiers` what a
task trains and compares.
"""
