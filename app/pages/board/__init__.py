"""Encoders ranked, their costs, and the similarity of the data sets they are evaluated on."""

JOBS = {
    "cost": "cost:CostJob",
    "dataset-similarity": "similarity:SimilarityJob",
    "leaks": "leaks:LeakJob",
}
