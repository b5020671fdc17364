"""Decoding as a way to see what a vector keeps of a sentence."""

QUESTIONS = {
    "decode": "answer:DECODE",
    "interpolate": "answer:INTERPOLATE",
    "analogy": "answer:ANALOGY",
}
