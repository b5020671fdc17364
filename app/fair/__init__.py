"""The points of advice on a fair comparison, one subject a module. The way in is `app.fairness`."""
