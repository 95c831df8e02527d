/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What holds while files are written and drivers work: a signal, or a device that does not answer, ends the
 * process without leaving temporary files behind.
 *
 * A thread of its own waits for SIGINT, SIGTERM and SIGHUP and watches the bounds, because a driver that
 * hangs cannot be interrupted. There is one guard per process, as there is one set of signals. Threads: all
 * functions safe between guard_begin and guard_end.
 */
#pragma once

#include "base/file.h"
#include "hone/device.h"

#include <stdint.h>

/* To be called before other threads exist: they inherit the signal mask. Ignores SIGPIPE, so that a closed
 * standard output is an error like any other. */
hone_status guard_begin(hone_error *error);
void guard_end(void);

/* Between the two a signal does not end the process but waits for the second, which does: what is under way
 * has something to bring to an end, for which it has 10 s. Not nested. */
void guard_hold(void);
/* The same with another time; a second signal ends the process at once. */
void guard_hold_for(double seconds);
void guard_release(void);
/* Whether a signal waits. The context is not used. */
bool guard_is_signalled(void *context);

/* A file_output that the guard knows; used in the same way. */
struct guarded_output {
    struct file_output file;
    struct guarded_output *next;
};

hone_status guard_output_begin(struct guarded_output *output, const char *target, hone_error *error);
hone_status guard_output_commit(struct guarded_output *output, bool durable, hone_error *error);
/* Does nothing after commit, or for an output that is GUARDED_OUTPUT_NONE. */
void guard_output_abort(struct guarded_output *output);

#define GUARDED_OUTPUT_NONE ((struct guarded_output){.file = {.fd = -1}})

/* How a wait that lasts too long may be lived with; see guard_watch_or. */
struct guard_late {
    bool (*ask)(void *user, uint64_t key); /* NULL: it may not */
    void *user;
    uint64_t key;
    const hone_device *device; /* that is waited for; NULL: none in particular */
};

/* A bound on something that a driver, a decoder or a disk does. Time in which the process could have run and
 * had no processor, or was stopped, or waited for other processes that build programs, does not count. */
struct guard_watch {
    uint64_t deadline; /* counted time */
    double seconds;
    char what[512];
    struct guard_late late;
    uint64_t waited; /* of device_waited_ns, what is accounted for */
    struct guard_watch *next;
};

/* From now on the process ends with EXIT_DEVICE and the message "WHAT: no answer within N s" unless
 * guard_unwatch comes before. 0 seconds: no bound. */
void guard_watch(struct guard_watch *watch, double seconds, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same, but first `late` is asked, from the guard's thread: true if the wait is over in another way, and
 * nothing ends. */
void guard_watch_or(struct guard_watch *watch, double seconds, const struct guard_late *late,
                    const char *format, ...) __attribute__((format(printf, 4, 5)));
void guard_unwatch(struct guard_watch *watch);
/* For `late`: ends the process at once with this status, as a bound does, but says nothing. */
void guard_leave(int status) __attribute__((noreturn));
