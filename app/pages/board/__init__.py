"""Encoders in order, and what they cost."""

JOBS = {"cost": "cost:CostJob"}
