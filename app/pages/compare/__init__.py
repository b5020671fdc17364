"""Encoders side by side: which differences are real, and what makes a comparison unfair."""

QUESTIONS = {"compare": "answer:COMPARE", "fair": "fairness:FAIR"}
