"""Encoders measured on tasks."""

JOBS = {"evaluate": "job:EvaluateJob"}
