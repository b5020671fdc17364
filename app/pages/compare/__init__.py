"""Encoders side by side, and which differences are real."""

QUESTIONS = {"compare": "answer:COMPARE"}
