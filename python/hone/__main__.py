# SPDX-License-Identifier: BSD-2-Clause
"""python -m hone ...: the command `hone`."""

import os
import sys

from ._command import path

os.execv(path(), ["hone", *sys.argv[1:]])
