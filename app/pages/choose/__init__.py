"""Choosing an encoder for your own data: a decision sheet."""

QUESTIONS = {"choose": "answer:CHOOSE"}
JOBS = {"choose": "sheet:ChooseJob"}
