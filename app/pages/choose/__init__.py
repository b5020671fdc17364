"""Choosing an encoder for your own data: a decision sheet."""

JOBS = {"choose": "job:ChooseJob"}
