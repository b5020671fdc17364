"""Diagnoses made up by hand, for pages and lists that need no decoder."""

import hashlib

from theodolite.engine.decoding.diagnosis import DecodedSample, Diagnosis, Figure, FigureRow, System

LENGTHS = ("", "1 to 4 words", "5 to 7 words", "8 to 10 words", "11 to 14 words")
SHARES: tuple[tuple[System, float], ...] = (("decoder", 1.0), ("nearest", 0.8), ("another", 0.3))
_PAIRS = (
    ("The old dog slept by the warm fire.", "The old man slept by the fire."),
    ("She paid for the tickets with her card.", "She paid with the tickets for her car."),
    ("Rain fell on the harbour all night.", "Rain fell on the harbour all night."),
    ("The committee will meet again on Tuesday.", "The team will meet on Monday evening."),
    ("<b>Bold</b> words & more of them", "<i>bold words of more"),
)


def diagnosis(encoder: str = "minilm", level: float = 40.0) -> Diagnosis:
    """A decoder whose figures are about `level`, above another sentence and partly the nearest.

    Args:
        encoder: its name.
        level: points of the token F1 over all sentences.
    """
    rows = tuple(
        FigureRow(
            system, length, 250 if length else 1000, _figures(level * share - 4 * place, length)
        )
        for place, length in enumerate(LENGTHS)
        for system, share in SHARES
    )
    samples = tuple(
        DecodedSample(given, text, 0.9 - 0.1 * place, place == 3, "A dog slept by the stove.", 0.7)
        for place, (given, text) in enumerate(_PAIRS)
    )
    mark = hashlib.blake2b(f"{encoder}{level}".encode(), digest_size=16).hexdigest()
    return Diagnosis(
        encoder=encoder,
        dim=384,
        fingerprint=mark,
        data_hash="d" * 32,
        decoder={"architecture": "prefix", "sentences": 150_000, "words": 14, "fingerprint": mark},
        mover="mover-wordllama",
        known=150_000,
        rows=rows,
        samples=samples,
        notes=(
            "Not above the baseline “nearest training sentence”, interval against interval: BLEU.",
        ),
        seed=1111,
        seconds=60.0,
    )


def _figures(level: float, length: str) -> tuple[Figure, ...]:
    made = {
        "id": 0.2,
        "perm": 0.3,
        "id_perm": 1.5,
        "bleu": 0.5,
        "mover-wordllama": 0.9,
        "token_f1": 1.0,
        **({} if length else {"bleu-ref": 0.6}),
    }
    figures = [
        Figure(metric, level * share, level * share - 2.5, level * share + 2.5)
        for metric, share in made.items()
    ]
    return (*figures, Figure("round_trip", level / 50, level / 50 - 0.02, level / 50 + 0.02))
