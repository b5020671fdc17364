"""Decoders: conditional language models that turn a point of a space back into a sentence."""
