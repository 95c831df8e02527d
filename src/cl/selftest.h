/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What a device's driver really does, found out by running small kernels, each when something first depends
 * on its answer: at most two seconds for all, once per driver version, remembered on disk. The required ones
 * are asked together, in one kernel. Sources of each check: drivers that cut loops, clocks that stand still,
 * features that are listed and missing or present and unlisted.
 */
#pragma once

#include "hone/device.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum selftest_item {
    /* Must hold, or results cannot be trusted. */
    SELFTEST_BUILD,    /* a program compiles, a kernel runs, a buffer comes back */
    SELFTEST_LOOPS,    /* a loop of 100,000 rounds runs to its end (llvmpipe 22.3: 65,535) */
    SELFTEST_LOCAL,    /* local memory and barriers */
    SELFTEST_INTEGERS, /* mul_hi, shifts, wrap-around, saturation */
    SELFTEST_FLOATS,   /* no contraction under FP_CONTRACT OFF, NaN is NaN */
    SELFTEST_ATOMICS,  /* atomic_add in global and local memory */
    /* May fail; what needs it is switched off. */
    SELFTEST_CLOCK,      /* time stamps advance and agree with the host's clock within a factor of ten */
    SELFTEST_IMAGES,     /* integer reads and writes of a one-channel 8-bit image, clamped */
    SELFTEST_HALF_STORE, /* vload_half and vstore_half_rte */
    SELFTEST_HALF,       /* arithmetic operators of half and half2 */
    SELFTEST_WIDE,       /* clang's 64-byte vectors inside OpenCL C (CPUs) */
    SELFTEST_PTX,        /* inline PTX: prmt, vabsdiff4, dp4a, f16x2, shuffles (NVIDIA) */
    SELFTEST_SUBGROUPS,  /* cl_khr_subgroups: shuffle-free scan and reduce */
    SELFTEST_PROGRESS,   /* a work-group that waits lets one that started earlier come to its end */
    SELFTEST_IN_PLACE, /* kernels work at the host's addresses, so that maps of them are not needed (CPUs) */
    SELFTEST_COUNT
};

/* The required items are those before SELFTEST_CLOCK. */
const char *selftest_item_name(enum selftest_item item);

/* Whether the item holds on the device: from memory, from disk, or by asking now. Threads: safe. */
bool selftest_holds(hone_device *device, enum selftest_item item);

/* Takes an answer as given, as long as the device is open: to see what other devices would get. */
void selftest_assume(hone_device *device, enum selftest_item item, bool holds);

/* All required items hold. */
bool selftest_passes(hone_device *device);

/* Logs a warning for each required item that does not hold; once per open device. */
void selftest_warn(hone_device *device);

/* Asks everything now and replaces what is remembered; *milliseconds (may be NULL) gets how long it took. */
hone_status selftest_run(hone_device *device, double *milliseconds, hone_error *error);

/* Notes that it is the driver that ends this process: what is being asked fails from now on. Without it, a
 * process that ended in a question (kill -9, say) counts for nothing until four have. Safe in signal
 * handlers. */
void selftest_blame(void);

/* Removes the verdicts on all devices from disk; devices that are open keep theirs. *files and *bytes grow by
 * what was removed. */
void selftest_forget(size_t *files, uint64_t *bytes);
