"""What can be measured, what it costs, and what was: suites, costs, scores, cards."""
