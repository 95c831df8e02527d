# SPDX-License-Identifier: BSD-2-Clause
"""hone on clusters: Dask arrays of any size, OME-Zarr, and folders of files, each worker on a device of its node.

    import hone.dask
    array, axes = hone.dask.open('plate.zarr')
    edges, axes = hone.dask.apply('gaussian sigma=3 | sobel', array, axes=axes, with_axes=True)
    hone.dask.save(edges, 'edges.zarr', axes)

`python -m hone.dask apply CHAIN INPUT -o OUTPUT --scheduler ADDRESS` does this for files.
"""

try:
    import dask.array as _array  # noqa: F401  (tells at once what is missing)
    import numpy as _numpy  # noqa: F401
except ImportError as error:
    raise ImportError("hone.dask needs Dask and NumPy: pip install 'hone[dask]'") from error

from ._array import apply
from ._files import Skipped, apply_files, open, pixels_of, save  # pylint: disable=redefined-builtin

__all__ = ["Skipped", "apply", "apply_files", "open", "pixels_of", "save"]
