"""What a person sees: pages and what they are drawn with, verbs, and jobs."""

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType


class _LightGradio(MetaPathFinder):
    """Has Gradio leave out what takes half of the time of its import, and what we never use.

    It would write type stubs beside its components, for which it parses all their sources, and
    import `mcp` where that is installed: our tools for agents are no part of its pages.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find one of the two modules that do so, to be run without it."""
        if fullname not in ("gradio.component_meta", "gradio.mcp"):
            return None
        spec = PathFinder.find_spec(fullname, path)
        if spec and spec.loader:
            run = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                blocked = sys.modules.setdefault("mcp", None) is None  # type: ignore[arg-type]
                try:
                    run(module)
                finally:
                    if blocked:
                        sys.modules.pop("mcp", None)  # one of the two may import the other
                module.create_or_modify_pyi = lambda *_: None  # type: ignore[attr-defined]

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


sys.meta_path.insert(0, _LightGradio())
