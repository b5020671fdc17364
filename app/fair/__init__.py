"""The points of advice on a fair comparison, one subject a module; `fairness` is the way in."""
