"""Encoders ranked, and their costs."""

QUESTIONS = {"board": "answer:BOARD", "encoders cost": "cost:COST"}
JOBS = {"cost": "cost:CostJob"}
