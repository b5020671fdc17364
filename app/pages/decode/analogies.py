"""Expressions over named sentences: the presets, and how the names are written."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from theodolite.engine.errors import UserError

ANALOGY = "a - b + c"
_LINE = re.compile(r"\s*(?P<name>[^\W\d]\w*)\s*[=:]\s*(?P<sentence>\S.*?)\s*")


@dataclass(frozen=True)
class Preset:
    """An expression with its sentences.

    Attributes:
        title: its name in the list of presets.
        sentences: named a, b, c in turn.
        answer: an expected answer, written by a person; empty for none.
        expression: `a - b + c` is the analogy a : b :: z : c.
    """

    title: str
    sentences: tuple[str, ...]
    answer: str = ""
    expression: str = ANALOGY

    @property
    def lines(self) -> str:
        """The sentences as `read_names` reads them."""
        return "\n".join(f"{chr(97 + i)} = {text}" for i, text in enumerate(self.sentences))


PRESETS = (
    # The two of Vec2Sent (Kerscher and Eger 2020), as its authors wrote them.
    Preset(
        "Vec2Sent: Italy and pizza",
        ("he visits italy", "he eats pizza", "she drinks wine"),
        "she visits france",
    ),
    Preset(
        "Vec2Sent: Robert and Julia",
        ("he is a doctor", "his name is robert", "her name is julia"),
        "she is a doctor",
    ),
    Preset(
        "Tense",
        ("He walks to school.", "He walked to school.", "She played the piano."),
        "She plays the piano.",
    ),
    Preset(
        "Future",
        ("It will rain tomorrow.", "It rained yesterday.", "They arrived yesterday."),
        "They will arrive tomorrow.",
    ),
    Preset("Number", ("The dogs bark.", "The dog barks.", "The bird sings."), "The birds sing."),
    Preset(
        "Counting",
        ("I have two cats.", "I have one cat.", "I have one brother."),
        "I have two brothers.",
    ),
    Preset(
        "Negation",
        ("I do not like this film.", "I like this film.", "I like this book."),
        "I do not like this book.",
    ),
    Preset(
        "Question",
        ("Is the door open?", "The door is open.", "The shop is closed."),
        "Is the shop closed?",
    ),
    Preset(
        "Opposite",
        ("The soup is hot.", "The soup is cold.", "The water is cold."),
        "The water is hot.",
    ),
    Preset(
        "Praise",
        ("The film was wonderful.", "The film was terrible.", "The food was terrible."),
        "The food was wonderful.",
    ),
    Preset("Person", ("I am tired.", "You are tired.", "You are late."), "I am late."),
    Preset(
        "He and she",
        ("She is a teacher.", "He is a teacher.", "He reads his book."),
        "She reads her book.",
    ),
    Preset(
        "Capital",
        ("Paris is the capital of France.", "France is a country.", "Italy is a country."),
        "Rome is the capital of Italy.",
    ),
    Preset(
        "Passive",
        ("The ball was thrown by the boy.", "The boy threw the ball.", "The cat ate the fish."),
        "The fish was eaten by the cat.",
    ),
    Preset(
        "Halfway",
        ("The old man walks his dog.", "A young girl rides her horse."),
        "",
        "(a + b) / 2",
    ),
)


def read_names(lines: Iterable[str]) -> dict[str, str]:
    """Parse `name = sentence` lines; a colon may replace the equals sign."""
    sentences: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            raise UserError(
                f"Line {number} of the sentences has no name or no sentence: "
                f"{line.strip()[:60]!r}.",
                "Write it as `a = He walks to school.`; a name begins with a letter.",
                code="damaged",
            )
        if match["name"] in sentences:
            raise UserError(
                f"Line {number} defines {match['name']} again.",
                "Give each sentence its own name.",
                code="conflict",
            )
        sentences[match["name"]] = match["sentence"]
    return sentences


def preset_of(expression: str, lines: Iterable[str]) -> Preset | None:
    """The preset with this expression and these sentences."""
    current = (expression, "\n".join(line.strip() for line in lines if line.strip()))
    return next(
        (preset for preset in PRESETS if (preset.expression, preset.lines) == current), None
    )
