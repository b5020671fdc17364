"""Checks for problems in a data set, and for texts of tasks in training data."""

QUESTIONS = {"encoders leaks": "leaks:LEAKS"}
JOBS = {"curate": "service:CurateJob", "leaks": "leaks:LeakJob"}
