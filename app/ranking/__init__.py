"""Several encoders on the same tasks: which differences and which ranks can be trusted."""
