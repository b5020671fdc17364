"""What the tests of maps begin with."""

from __future__ import annotations

import pytest

from theodolite.app.pages.encoders import service as encoders
from theodolite.app.pages.map import service as maps
from theodolite.app.pages.map.job import MapJob
from theodolite.app.workspace import Workspace

ENCODER = "random:16"


@pytest.fixture(scope="module")
def workspace(starter: Workspace) -> Workspace:
    """One encoder is listed."""
    encoders.add(starter, ENCODER)
    return starter


@pytest.fixture(scope="module")
def pca(workspace: Workspace) -> maps.StoredMap:
    """The principal components of the starter topics."""
    return MapJob.of(ENCODER, "starter-topics", method="pca").make(workspace)
