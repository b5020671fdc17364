"""Decoding as the app sees it: which decoders there are, their training, what they say."""
