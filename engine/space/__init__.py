"""The geometry of an embedding space: measures, projection, clusters, two spaces side by side."""
