"""Training as the app sees it: its runs, their curves, their pictures."""
