"""Evaluation of encoders on tasks."""

JOBS = {"evaluate": "job:EvaluateJob"}
