"""Which encoder for one's own data: a decision sheet."""

JOBS = {"choose": "job:ChooseJob"}
