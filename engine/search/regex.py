"""Sentences that match a regular expression, matched in a process that can be killed.

A short pattern can keep Python's `re` busy for years, and nothing in the same process can interrupt
it. So a child process does the search, and is killed after a timeout. The package `regex` has
timeouts, but no limit of memory: `(?:(?:x?){1000}){1000}y` took it 600 MiB within a second.
"""

import json
import subprocess
import sys
from collections.abc import Sequence

from theodolite.engine.errors import UserError

LONGEST = 1000
"""Most characters of a pattern."""
SECONDS = 3.0
_MEMORY = 2 << 30

_CHILD = """
import json, re, sys, warnings
warnings.simplefilter("ignore")
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (%d, %d))
except (ImportError, ValueError, OSError):
    pass
given = json.load(sys.stdin)
try:
    find = re.compile(given["pattern"], re.IGNORECASE).search
except (re.error, OverflowError, RecursionError) as error:
    json.dump({"error": str(error)}, sys.stdout)
else:
    found = [[i, *m.span()] for i, s in enumerate(given["sentences"]) if (m := find(s))]
    json.dump(found, sys.stdout)
""" % (_MEMORY, _MEMORY)  # noqa: UP031 - braces stand in the code


def find_matching(
    pattern: str, sentences: Sequence[str], *, seconds: float = SECONDS
) -> list[tuple[int, int, int]]:
    """Find the sentences in which a pattern of Python's `re` matches somewhere, in either case.

    Args:
        pattern: the expression.
        sentences: the sentences to search.
        seconds: timeout of the search.

    Returns:
        (position, start, end) for each sentence that matches, in order; start and end are those of
        the first match in it.
    """
    if not pattern or len(pattern) > LONGEST:
        raise UserError(
            f"The pattern has {len(pattern)} characters.",
            f"Write from 1 to {LONGEST}.",
            code="too-large" if pattern else "missing",
        )
    request = {"pattern": pattern, "sentences": list(sentences)}
    try:
        done = subprocess.run(  # noqa: S603 - this interpreter, code of ours, data on its input
            [sys.executable, "-I", "-S", "-c", _CHILD],
            input=json.dumps(request).encode(),
            capture_output=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise UserError(
            f"The search of {len(sentences):,} sentences for the pattern was stopped after "
            f"{round(seconds, 1):g} seconds.",
            "Patterns that repeat a repetition, such as (a+)+, take forever; simplify it.",
            code="too-large",
        ) from None
    if done.returncode != 0:
        raise UserError(
            "The pattern could not be used: it needs too much memory.",
            "Repeat fewer times: large counts in braces multiply.",
            code="too-large",
        )
    answer = json.loads(done.stdout)
    if isinstance(answer, dict):
        raise UserError(
            f"{pattern[:80]!r} is not a regular expression: {answer['error']}.",
            r"Put a backslash before signs that are meant as they are: \( \. \?",
            code="damaged",
        )
    return [(i, start, end) for i, start, end in answer]
