"""Encoders in order, what they cost, and how alike the data are that measure them."""

JOBS = {
    "cost": "cost:CostJob",
    "dataset-similarity": "similarity:SimilarityJob",
    "leaks": "leaks:LeakJob",
}
