# SPDX-License-Identifier: BSD-2-Clause
"""libhone for scripts: chains applied to NumPy arrays, through the public C interface.

    bridge.apply("add", a, second=b)                       the first device, the variant that hone chooses
    bridge.apply("add", a, second=b, variant="scalar", config="ALONG=0")
    bridge.variants("add")                                 names, from `hone filters`
    bridge.by_variant("box", "box size=5", a)              name and result of each variant that can run
"""

import ctypes
import functools
import json
import os
import subprocess

import numpy

import frame

TYPES = {"uint8": 0, "uint16": 1, "float32": 2, "int16": 3, "uint32": 4}
NAMES = {number: name for name, number in TYPES.items()}


class Error(ctypes.Structure):
    _fields_ = [("status", ctypes.c_int), ("cl_code", ctypes.c_int), ("column", ctypes.c_int),
                ("message", ctypes.c_char * 1024), ("log", ctypes.c_char * 4096)]


class Request(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("spec", ctypes.c_char_p), ("profile", ctypes.c_bool), ("out_of_order", ctypes.c_bool),
                ("no_disk_cache", ctypes.c_bool), ("compute_units", ctypes.c_uint), ("performance", ctypes.c_int),
                ("kernel_folder", ctypes.c_char_p), ("memory_limit", ctypes.c_uint64), ("log", ctypes.c_void_p),
                ("log_user", ctypes.c_void_p)]


class Desc(ctypes.Structure):
    _fields_ = [("width", ctypes.c_uint32), ("height", ctypes.c_uint32), ("type", ctypes.c_int),
                ("channels", ctypes.c_uint32), ("pitch", ctypes.c_size_t)]


class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("variant", ctypes.c_char_p), ("config", ctypes.c_char_p),
                ("tune", ctypes.c_int), ("no_fuse", ctypes.c_bool), ("second", ctypes.POINTER(Desc)), ("second_count", ctypes.c_size_t), ("runs", ctypes.c_uint32)]


class Failed(Exception):
    """A call of hone's that failed; the text is its message."""


@functools.lru_cache(None)
def library():
    lib = ctypes.CDLL(os.path.join(frame.build(), "libhone.so"))
    lib.hone_plan_output.restype = ctypes.POINTER(Desc)
    return lib


def call(name, *arguments):
    error = Error()
    if getattr(library(), name)(*arguments, ctypes.byref(error)):
        raise Failed(error.message.decode() + " " + error.log.decode())


@functools.lru_cache(None)
def device():
    """The first. Asked for a binary to keep on disk, PoCL would compile every kernel a second time."""
    found = ctypes.c_void_p()
    call("hone_device_open", ctypes.byref(found), ctypes.byref(Request(no_disk_cache=True)))
    return found


def desc_of(array):
    channels = array.shape[2] if array.ndim == 3 else 1
    return Desc(array.shape[1], array.shape[0], TYPES[array.dtype.name], channels, 0)


def pointer(array):
    return array.ctypes.data_as(ctypes.c_void_p)


def make_plan(chain_text, image, second, variant, config):
    chain, plan = ctypes.c_void_p(), ctypes.c_void_p()
    options = Options(ctypes.sizeof(Options), variant and variant.encode(), config and config.encode(), 1, False, None, 0)
    if second is not None:
        options.second, options.second_count = ctypes.pointer(desc_of(second)), 1
    call("hone_chain_parse", ctypes.byref(chain), chain_text.encode())
    try:
        call("hone_plan_create", ctypes.byref(plan), device(), chain, ctypes.byref(desc_of(image)),
             ctypes.byref(options))
    finally:
        library().hone_chain_destroy(ctypes.byref(chain))
    return plan


def run_plan(plan, image, second, make):
    out = library().hone_plan_output(plan).contents
    shape = (out.height, out.width) if out.channels == 1 else (out.height, out.width, out.channels)
    result = make(shape, NAMES[out.type])
    other = ctypes.c_void_p()
    try:
        if second is not None:
            call("hone_image_wrap", ctypes.byref(other), device(), ctypes.byref(desc_of(second)), pointer(second))
            call("hone_plan_bind", plan, ctypes.c_size_t(0), other)
        call("hone_plan_apply", plan, pointer(image), ctypes.c_size_t(0), pointer(result), ctypes.c_size_t(0))
    finally:
        library().hone_plan_destroy(ctypes.byref(plan))
        library().hone_image_destroy(ctypes.byref(other))
    return result


def apply(chain, image, second=None, variant=None, config=None, make=numpy.zeros):
    """The result of a chain as an array of height x width, or height x width x channels; `make` says where it lies."""
    image = numpy.ascontiguousarray(image)
    second = None if second is None else numpy.ascontiguousarray(second)
    return run_plan(make_plan(chain, image, second, variant, config), image, second, make)


def variants(name):
    """Names of a filter's variants that are exact."""
    text = subprocess.run([os.path.join(frame.build(), "hone"), "filters", name, "--json"], capture_output=True,
                          text=True, check=True, timeout=60).stdout
    return [variant["name"] for variant in json.loads(text)["variants"] if not variant["relaxed"] and not variant["exact"]]


def by_variant(name, chain, image, names=None, least=1):
    """Name and result of each variant (or of `names`) that can run, which are at least `least`; refusals are held
    to say what they need."""
    ran = 0
    for variant in variants(name) if names is None else names:
        try:
            got = apply(chain, image, variant=variant)
        except Failed as reason:
            frame.check("cannot run here" in str(reason) or " needs " in str(reason), str(reason))
            continue
        ran += 1
        yield variant, got
    frame.check(ran >= least, f"{chain}: only {ran} variants ran")
