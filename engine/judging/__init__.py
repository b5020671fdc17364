"""Encoders compared by human judgements: what to judge next, and the resulting estimates."""
