"""Checks for problems in a data set, and for texts of tasks in training data."""

QUESTIONS = {"curate": "answer:CURATE", "encoders leaks": "leaks:QUESTION"}
JOBS = {"curate": "answer:CurateSpec", "leaks": "leaks:LeaksSpec"}
