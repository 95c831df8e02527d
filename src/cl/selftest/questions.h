/* SPDX-License-Identifier: BSD-2-Clause */
/* The questions of the self-test: which kernels are run on a device, and whether it answers rightly. */
#pragma once

#include "cl/memory.h"
#include "cl/program.h"
#include "cl/selftest.h"

/* Generated from selftest.cl. */
extern const char selftest_source[];

enum { ANSWERS = 4096 };

/* One question: a program (built before), a kernel, a buffer of ANSWERS words. */
struct question {
    struct hone_device *device;
    struct program *program;
    struct memory *memory;
    uint32_t *words;
    size_t group;     /* work-items of a group when the clock is asked: nothing else is compiled for it */
    hone_error error; /* of the call that failed, where the driver refused to answer; status 0: it answered */
};

/* Appends the blocks of selftest.cl that name one of the parts which `options` define, and what stands
 * outside of blocks: a driver that reads declarations by name (see cl/source/builtins.h) needs those of these
 * alone. */
struct text;
void question_source(struct text *out, const char *options);

/* False: there is no such program or buffer; q->error says why. question_end() in any case. */
bool question_begin(struct question *q, struct hone_device *device, const char *options);
void question_end(struct question *q);

/* Which program and kernel answer an item by itself, and whether asking makes sense on a device at all. */
struct question_probe {
    const char *options, *kernel;
    bool (*check)(struct question *q, struct kernel *kernel);
    bool (*sensible)(const struct hone_device *device);
};
extern const struct question_probe question_probes[SELFTEST_COUNT];
bool question_is_sensible(const struct hone_device *device, enum selftest_item item);

/* The required items at once, and what else CPUs are asked before their first kernel: one program, one
 * kernel, a fifth of the time. */
bool question_core(struct question *q, struct kernel *kernel, bool wide);
/* Whether kernels work on memory of the host where it is, by the program and arguments of question_core. */
bool question_in_place(struct question *q, struct kernel *kernel);
/* Whether the device's clock works, by the program of any question. */
bool question_clock(struct question *q, struct kernel *kernel);
