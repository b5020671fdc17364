"""Encoders ranked, and their costs."""

JOBS = {
    "cost": "cost:CostJob",
}
