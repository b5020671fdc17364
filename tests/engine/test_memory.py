"""Memory that was freed goes back to the system, though batches of ever other sizes left holes."""

import sys

import psutil
import pytest
import torch

from theodolite.engine import memory

MIB = 2**20


@pytest.mark.skipif(sys.platform != "linux", reason="a heap with holes is glibc's way")
def test_the_holes_between_tensors_go_back() -> None:
    """A hundred large tensors, each before a smaller one that stays, so that holes are left."""
    torch.ones(30 * MIB // 4)  # freed at once: glibc then puts tensors of such sizes into its heap
    sizes = [MIB + 4096 * i for i in range(100)]
    large, small = [], []
    for size in sizes:
        large.append(torch.ones(size // 4))
        small.append(torch.ones(MIB // 8))
    large.clear()
    before = psutil.Process().memory_info().rss
    memory.empty_cache(torch.device("cpu"))
    assert before - psutil.Process().memory_info().rss > sum(sizes) // 2
    assert all(bool((kept == 1).all()) for kept in small)
