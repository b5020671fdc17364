"""How sure a score is: intervals, tests, ranks, agreement."""
