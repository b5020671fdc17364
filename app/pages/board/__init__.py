"""Encoders ranked, and their costs."""

QUESTIONS = {"board": "answer:BOARD", "encoders cost": "cost_answer:COST"}
JOBS = {"cost": "cost:CostJob"}
