"""An app over a small store, spoken to over HTTP without a browser."""

from collections.abc import Iterator

import httpx
import pytest

from tests.fakes.started import launched
from theodolite.app.pages.encoders import service as encoders
from theodolite.app.workspace import Workspace

LISTED = "random:16"
ALLOWED = ["lab.example.org", "*.site.example"]
"""Names of hosts."""


@pytest.fixture(scope="module", autouse=True)
def no_data() -> Iterator[None]:
    """Opening Fairness with a data folder compares its sets, which takes long."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("THEODOLITE_DATA", raising=False)
        yield


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A person's own, with one encoder."""
    made = Workspace(tmp_path_factory.mktemp("guard") / "store")
    encoders.add(made, LISTED)
    return made


@pytest.fixture(scope="module")
def client(workspace: Workspace) -> Iterator[httpx.Client]:
    """Somebody without a browser, and the app without a login."""
    with launched(workspace, allow_hosts=ALLOWED) as made:
        yield made


class Clock:
    """A clock that is set by hand."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now
