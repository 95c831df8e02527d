/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Where the time of a chain goes: every command of every run, with what the host did meanwhile.
 *
 * A run is: hand the picture over, the plan, take the result back. All that the device was given is waited
 * for between runs, so that each one stands alone.
 */
#pragma once

#include "choose/roofs.h"
#include "hone/hone.h"
#include "tune/energy/energy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the host does in a run, one after the other. */
enum profile_call { PROFILE_UPLOAD, PROFILE_PLAN, PROFILE_DOWNLOAD, PROFILE_WAIT, PROFILE_CALLS };
extern const char *const profile_call_names[PROFILE_CALLS];

/* A command, with the call that it came from. */
struct profile_command {
    hone_command c;
    enum profile_call call;
};

/* Times of the host are those of clock_ns, times of commands the device's. */
struct profile_run {
    uint64_t begun[PROFILE_CALLS], ended; /* of the calls: each ends where the next one begins */
    uint64_t thread_ns, process_ns; /* processor time: of the calling thread, and of the whole process */
    uint64_t to_host;               /* added to a time of the device (modulo 2^64): one of the host */
    struct profile_command *commands;
    size_t count;
};

/* The same command in all steady runs; nanoseconds, except for bytes. */
struct profile_row {
    struct profile_command typical; /* in the typical run */
    double run, least, most;        /* started to ended: median and range */
    double first;                   /* the same in the first run of all */
    double gap;  /* median of how long the device did nothing before it; 0 for the first one */
    double rate; /* bytes/s by the median, both ways counted for copies inside the device; 0: no bytes */
    double roof; /* what `rate` may be at most; 0: not known, or there is none */
};

/* Why a run copies what it copies. */
struct profile_copy {
    const char *what; /* as hone_command_kind_name() */
    size_t step;      /* or HONE_NO_STEP */
    uint64_t bytes;
    bool avoidable;
    char why[320]; /* and, where it is avoidable, what would avoid it */
};

struct profile_traffic {
    uint64_t bus;    /* bytes between host and device memory in a run; 0 where they share it */
    uint64_t memory; /* bytes that kernels and copies read and write in the device's memory */
    size_t launches;
    size_t copies;
};

enum profile_clock { PROFILE_CLOCK_AUTO, PROFILE_CLOCK_DEVICE, PROFILE_CLOCK_HOST };

struct profile_options {
    unsigned warmup, repeat; /* runs; repeat: at least 1 */
    enum profile_clock clock;
    /* Called around every run, where a driver may hang. May be NULL. */
    void (*watch)(void *user, bool begins);
    void *user;
    const char *sysfs, *nvml; /* as energy_open has them */
};

struct profile {
    unsigned warmup, repeat;
    bool host_clock;          /* the device has no clock that works, or the host's was asked for */
    struct profile_run *runs; /* those of the warm-up first */
    /* Of the steady runs, whole: seconds. */
    double median, least, most, thread_median, process_median;
    double first; /* of the first run of all */
    double call_medians[PROFILE_CALLS];
    size_t typical;    /* the run whose time is the median */
    double busy, idle; /* seconds of the typical run: the device works; it waits between commands */
    struct profile_row *rows;
    size_t row_count;
    bool changed; /* steady runs had different commands: rows are those of the typical run alone */
    struct profile_traffic traffic;
    struct profile_copy *copies;
    size_t copy_count;
    struct roofs roofs;
    bool has_roofs;
    struct energy_meter energy;
    unsigned energy_runs; /* that the counters went through */
    double energy_seconds;
};

/* `in` and `out` wrap memory of the host. The plan no longer tries configurations from here on. On failure
 * nothing is left; else profile_finish is due. */
hone_status profile_measure(struct profile *profile, hone_device *device, hone_plan *plan, hone_image *in,
                            hone_image *out, const struct profile_options *options, hone_error *error);
void profile_finish(struct profile *profile);

/* What a run copies in: what was enqueued, and what it was for. */
struct copy_situation {
    hone_device *device;
    const hone_step_info *steps; /* of the chain */
    size_t step_count;
    hone_image_desc in, out; /* as the caller has them */
    bool in_parts;           /* the caller's images go through memory of hone's, part by part */
};

/* Why a command copies what it copies; false: it does not copy. */
bool profile_explain_copy(const struct copy_situation *situation, const hone_command *command,
                          struct profile_copy *copy);
/* Adds a command to what a run moves. */
void profile_add_traffic(struct profile_traffic *traffic, const hone_command *command);
