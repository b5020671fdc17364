"""Data sets: what is available, adding your own, MTEB's suites, and how similar they are."""

QUESTIONS = {"data similarity": "similarity:QUESTION"}
JOBS = {
    "fetch": "suites:FetchJob",
    "dataset-similarity": "similarity:SimilaritySpec",
    "mine": "job:MineSpec",
}
