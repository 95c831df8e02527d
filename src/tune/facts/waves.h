/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * How many waves (warps) of a kernel a device holds at once, from the registers that a work-item needs: what
 * hides the time that memory takes (guide 3.2.3).
 *
 * Sources: for AMD the limits in LLVM's AMDGPUBaseInfo.cpp; for NVIDIA the tables of the CUDA programming
 * guide and the rules of its occupancy calculator.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The registers of one of AMD's vector units. */
struct wave_unit {
    unsigned registers; /* for each lane */
    unsigned granule;   /* given away in multiples of this */
    unsigned most;      /* waves at once, whatever they need */
};

/* By the name of the architecture: "gfx906", "gfx1030:xnack-"; GCN's for every other "gfx". False for names
 * of other vendors. Those of gfx10 and later are for waves of 32. */
bool wave_unit_of(const char *architecture, struct wave_unit *unit);
/* Waves at once on one unit; 0: the kernel does not fit. */
unsigned wave_unit_waves(const struct wave_unit *unit, unsigned registers);

/* One of NVIDIA's multiprocessors. */
struct warp_unit {
    unsigned registers, warps, groups;
    size_t local_bytes;    /* for all work-groups together */
    size_t local_reserved; /* taken by each work-group beside its own */
};

/* By compute capability times ten: 90 for 9.0. False where it is not known. */
bool warp_unit_of(unsigned capability, struct warp_unit *unit);
/* Warps at once, of work-groups of `items` with so much local memory. */
unsigned warp_unit_warps(const struct warp_unit *unit, unsigned registers, unsigned items,
                         size_t local_bytes);
