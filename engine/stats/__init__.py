"""The uncertainty of scores: intervals, tests, ranks, agreement."""
