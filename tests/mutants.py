"""Sixty small faults, drawn once by a seed: do the tests that mirror a file notice them?

    python -m tests.mutants draw            # into tests/mutants.json, from the files as they are
    python -m tests.mutants run OUT.json    # each against its tests; an hour; resumes

A fault is one operator, bound or constant changed. It is found again by its function and its
expression, so that it survives formatting and a move to another file of the same folder. `run`
writes into the checkout, one file at a time, and restores it; do not edit there meanwhile.
"""

import ast
import copy
import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIST = Path(__file__).with_name("mutants.json")
FOLDERS = ("engine/tasks", "engine/stats", "store", "app/jobs")
SEED, EACH = 2026, 15
SECONDS = 900

SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn,
    ast.NotIn: ast.In, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.And: ast.Or, ast.Or: ast.And, ast.Not: ast.UAdd,
}  # fmt: skip

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(tree: ast.Module) -> Iterator[tuple[str, Function]]:
    """Functions and methods, by qualified name."""
    for node in tree.body:
        if isinstance(node, Function):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, Function):
                    yield f"{node.name}.{inner.name}", inner


def expressions(function: Function) -> Iterator[ast.expr]:
    """Those that a function's statements are made of, annotations aside."""
    for statement in ast.walk(function):
        if isinstance(statement, ast.stmt) and statement is not function:
            for part in ast.iter_child_nodes(statement):
                if isinstance(part, ast.expr) and part is not getattr(
                    statement, "annotation", None
                ):
                    yield part


class Exchange(ast.NodeTransformer):
    """Puts one node in the place of another."""

    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        """The new one for the old one."""
        return self.new if node is self.old else super().generic_visit(node)


def changed(given: ast.expr) -> Iterator[str]:
    """The expression with one thing changed, in each possible way."""
    for place, node in enumerate(ast.walk(given)):
        twin = copy.deepcopy(given)
        other = list(ast.walk(twin))[place]
        if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPPED:
            other.ops[0] = SWAPPED[type(node.ops[0])]()
        elif isinstance(node, ast.BinOp | ast.BoolOp) and type(node.op) in SWAPPED:
            if isinstance(node, ast.BinOp) and any(
                isinstance(side, ast.JoinedStr)
                or (isinstance(side, ast.Constant) and isinstance(side.value, str))
                for side in (node.left, node.right)
            ):
                continue
            other.op = SWAPPED[type(node.op)]()
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            other.op, other.operand = ast.Not(), ast.UnaryOp(ast.Not(), other.operand)
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
            other.value = not node.value
        elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            other.value = node.value + 1
        else:
            continue
        yield ast.unparse(twin)


def draw() -> list[dict[str, str]]:
    """The faults, as many of each folder."""
    drawn = []
    for folder in FOLDERS:
        possible = [
            {"file": str(path.relative_to(ROOT)), "function": name, "before": text, "after": after}
            for path in sorted((ROOT / folder).rglob("*.py"))
            for name, function in functions(ast.parse(path.read_text("utf-8")))
            for part in expressions(function)
            for text in [ast.unparse(part)]
            if not text.startswith(("'", '"'))
            for after in changed(part)
            if after != text
        ]
        drawn += random.Random(f"{SEED}{folder}").sample(possible, EACH)
    return drawn


def mutated(mutant: dict[str, str]) -> tuple[Path, str] | None:
    """The file that holds the fault's function now, and its faulty source; None if it is gone."""
    folder = next(one for one in FOLDERS if mutant["file"].startswith(one))
    first = ROOT / mutant["file"]
    for path in sorted((ROOT / folder).rglob("*.py"), key=lambda path: path != first):
        tree = ast.parse(path.read_text("utf-8"))
        for name, function in functions(tree):
            for part in expressions(function) if name == mutant["function"] else ():
                if ast.unparse(part) == mutant["before"]:
                    faulty = Exchange(part, ast.parse(mutant["after"], mode="eval").body)
                    return path, ast.unparse(ast.fix_missing_locations(faulty.visit(tree)))
    return None


def tests_of(path: Path) -> list[str]:
    """The test files named like a module, else all of its folder."""
    folder = ROOT / "tests" / path.relative_to(ROOT).parent
    named = sorted(folder.glob(f"test_{path.stem}*.py"))
    return [str(one.relative_to(ROOT)) for one in named or [folder]]


def outcome(mutant: dict[str, str]) -> str:
    """`killed`, `survived`, or `gone` if its expression is no longer there."""
    found = mutated(mutant)
    if found is None:
        return "gone"
    path, source = found
    original = path.read_text("utf-8")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-m", "not ui and not long"]
    try:
        path.write_text(source, "utf-8")
        done = subprocess.run(
            [*command, *tests_of(path)], cwd=ROOT, capture_output=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return "killed"
    finally:
        path.write_text(original, "utf-8")
    return "survived" if done.returncode == 0 else "killed"


def main() -> None:
    """Draw, or run what has not been run."""
    if sys.argv[1:] == ["draw"]:
        LIST.write_text(json.dumps(draw(), indent=1) + "\n", "utf-8")
        return
    out = Path(sys.argv[2])
    seen = json.loads(out.read_text("utf-8")) if out.exists() else {}
    for number, mutant in enumerate(json.loads(LIST.read_text("utf-8"))):
        if str(number) not in seen:
            seen[str(number)] = outcome(mutant)
            print(number, seen[str(number)], mutant["file"], mutant["after"][:60], flush=True)
            out.write_text(json.dumps(seen), "utf-8")
    print({kind: list(seen.values()).count(kind) for kind in ("killed", "survived", "gone")})


if __name__ == "__main__":
    main()
