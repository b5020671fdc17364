"""Tables and arrays as the bytes of files."""

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq


def parquet(table: pa.Table, **options: object) -> bytes:
    """As Parquet, written with some options."""
    pq.write_table(table, made := io.BytesIO(), **options)
    return made.getvalue()


def npy(array: np.ndarray) -> bytes:
    """As NumPy writes it."""
    np.save(made := io.BytesIO(), array)
    return made.getvalue()
