# SPDX-License-Identifier: BSD-2-Clause
"""Image filters for any OpenCL device.

    import hone
    edges = hone.apply('gaussian sigma=3 | sobel', image)
    soft = hone.gaussian(image, sigma=3)
    hone.last_report()      # device, variants, copies

Each filter is a function; help(hone.gaussian) tells its parameters. hone.Plan prepares a chain for many images of one
format, hone.Stream takes frames through a chain several at a time, and hone.devices() lists what there is to run on.
"""

try:
    from . import _hone
except ImportError as error:
    if "libOpenCL" in str(error):
        raise ImportError(
            "hone found no OpenCL loader (libOpenCL.so.1). Install one and a driver: on Debian and Ubuntu "
            "`apt install ocl-icd-libopencl1 pocl-opencl-icd` (PoCL runs on the CPU; GPUs have drivers of their own)"
        ) from error
    raise

from ._hone import (Array, CheckError, Device, DeviceError, Error, FileError, InternalError, NoDeviceError,
                    OutOfMemoryError, UnsupportedError, UsageError, __version__, devices)
from ._command import doctor, tune
from ._compare import compare
from ._filters import apply, filters, functions as _functions, load
from ._plans import Plan, forget
from ._report import Report, last_report
from ._stream import Stream
from ._tune_kernel import tune_kernel

_of_filters = _functions()
globals().update(_of_filters)

__all__ = ["Array", "CheckError", "Device", "DeviceError", "Error", "FileError", "InternalError", "NoDeviceError",
           "OutOfMemoryError", "Plan", "Report", "Stream", "UnsupportedError", "UsageError", "apply", "compare",
           "devices", "doctor", "filters", "forget", "last_report", "load", "tune", "tune_kernel", *_of_filters]
