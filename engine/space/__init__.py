"""The shape of an embedding space: geometry, projection, clusters, two spaces side by side."""
