/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What was measured, kept in $XDG_DATA_HOME/hone/tuning.jsonl: one JSON object per line. Lines are appended;
 * a file of many megabytes most of which later lines supersede is rewritten without those, whole (see
 * records_compact.h).
 *
 * A crash or power cut costs at most the line being written; a line that is damaged, or of a later schema, is
 * skipped and stays. Two files merge by concatenation; of contradicting verdicts "wrong" counts. Three kinds
 * of lines:
 *
 *   try     a configuration: "started" before it runs, then what came of it
 *   choice  the ranked outcome of tuning one case: what choosing reads
 *   trust   the verdict of checking a program against the reference: "right", or "wrong" with the evidence
 */
#pragma once

#include "filter/variant.h"
#include "hone/device.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    RECORD_VERSION = 1,
    RECORD_MAX_RANKED = 6,
    RECORD_MAX_RUNS = 16,
    RECORD_MAX_LINE = 1 << 16,
    RECORD_DIGEST = 65
};

/* The device as records know it. */
struct record_device {
    char name[256], vendor[128], platform[128], driver[128], architecture[64];
    unsigned vendor_id, compute_units;
    hone_device_kind kind;
};

/* The case: which filter on which pixels. */
struct record_case {
    char filter[64];
    char parameters[256]; /* "size=8", as a chain writes them; common ones left out */
    char border[16];
    char source[20]; /* start of the digest of the filter's kernel files and description: another source,
                        another record */
    hone_type type;
    uint32_t channels, width, height;
};

struct record_config {
    char variant[64], config[256];
    double ms;
};

enum record_state {
    STATE_STARTED,
    STATE_OK,
    STATE_COMPILE,
    STATE_RUN,
    STATE_TIMEOUT,
    STATE_CRASH,
    STATE_WRONG,
    STATE_SLOW,
    STATE_ABANDONED, /* nothing was found out: readers see neither this nor the start that it ends */
    STATE_COUNT
};

/* What is known of a configuration beside its time. Of several kernels the most; of waves the fewest. */
enum record_figure {
    FIGURE_REGISTERS, /* of a work-item */
    FIGURE_SPILLS,    /* see struct compiled */
    FIGURE_PRIVATE,   /* bytes of a work-item */
    FIGURE_LOCAL,     /* bytes of a work-group */
    FIGURE_MULTIPLE,  /* preferred, of a work-group's size */
    FIGURE_WAVES,     /* at once, */
    FIGURE_MOST_WAVES /* and as many as the device could hold */,
    FIGURE_ENERGY, /* joules of a launch, measured */
    FIGURE_COUNT
};
extern const struct record_figure_name {
    const char *name, *unit; /* "private_bytes", "bytes" */
} record_figure_names[FIGURE_COUNT];

struct record_figures {
    unsigned known; /* a bit for each */
    double values[FIGURE_COUNT];
};

struct record_try {
    struct record_device device;
    struct record_case c;
    struct record_config config;
    enum record_state state;
    double build_ms;
    double runs[RECORD_MAX_RUNS]; /* ms */
    int run_count;
    struct record_figures figures;
    char note[512];
    char session[96]; /* who started it, see record_session; empty: not told, or it is over */
    int64_t time;     /* seconds since 1970 */
};

/* Who chose. Only a session's own choice ends the session: others may come while it is interrupted. An
 * experiment is a session that the user limited to some variants. */
enum record_origin { ORIGIN_SESSION, ORIGIN_TRIAL, ORIGIN_IMPORT, ORIGIN_EXPERIMENT, ORIGIN_COUNT };

struct record_choice {
    enum record_origin origin;
    bool informs; /* nothing is chosen by this record: what ran anyway stayed the best of an experiment, */
    char objective[40]; /* or the session looked for something else than time, "gbs:max"; else empty */
    struct record_device device;
    struct record_case c;
    struct record_config ranked[RECORD_MAX_RANKED]; /* best first */
    int count;
    struct record_config seeds[RECORD_MAX_RANKED]; /* what the search began with; ms is not used */
    int seed_count;
    double default_ms, first_rung_ms, plain_ms; /* negative: not measured */
    int evaluations;
    int asked;       /* evaluations that the session was allowed; 0: not told */
    bool unfinished; /* it ran out of time before */
    bool continues;  /* it went on from the tries of the one before */
    double seconds;
    bool raced;     /* there was a final: the two below are known */
    double drift;   /* of the winner from the first third of the final to the last: 0.05 is 5 % slower */
    double load;    /* share of the processors that other work had meanwhile, 0 to 1; negative: not known */
    char clock[16]; /* what times were read from: "device", "host", "processor"; empty: not told */
    int64_t time;
    size_t tries_before; /* where it was read: so many tries stood before it. Seconds do not tell what came
                            first. */
};

struct record_trust {
    struct record_device device;
    char program[RECORD_DIGEST]; /* digest of everything that makes the program */
    char filter[64], variant[64], config[256], parameters[256];
    bool right;
    char evidence[512];
    int64_t time;
};

/* Filling in from live objects. */
void record_device_of(const hone_device *device, struct record_device *out);
void record_device_of_info(const hone_device_info *info, struct record_device *out);
void record_case_of(const struct filter_case *c, struct record_case *out);
const char *record_state_name(enum record_state state);
/* This process, told from all others before and after: "PID.TIME@BOOT". */
const char *record_session(void);
/* Whether tries[index], of `count`, was started and left without an end often enough to count as a crash.
 * Where the machine ran on, the session was killed, whatever it tried: that counts for nothing. Where it did
 * not, the try may have taken it down, or the power failed: so it takes two sessions to blame it. */
bool record_is_left(const struct record_try *tries, size_t count, size_t index);

/* All records of one file, in order. */
struct records {
    struct record_try *tries;
    size_t try_count, try_capacity;
    struct record_choice *choices;
    size_t choice_count, choice_capacity;
    struct record_trust *wrong; /* verdicts: programs in quarantine, with the evidence */
    size_t wrong_count, wrong_capacity;
    char (*right)[RECORD_DIGEST]; /* verdicts: programs that gave right results, by their digests alone */
    size_t right_count, right_capacity;
    size_t skipped; /* damaged or unknown lines */
};

/* Which kinds to read: parsing tries takes time that choosing does not have. */
enum { READ_TRIES = 1, READ_CHOICES = 2, READ_TRUSTS = 4, READ_ALL = 7 };

/* Reads text (one object a line) into records, appending. Only memory can fail. */
hone_status records_parse(struct records *records, const char *text, unsigned kinds, hone_error *error);
/* The same for one line without its newline, which need not end with a zero. */
hone_status records_parse_line(struct records *records, const char *line, size_t length, unsigned kinds,
                               hone_error *error);
/* Cheap: of which kinds a line can be, before it is parsed. */
unsigned records_line_kinds(const char *line, size_t length);
void records_finish(struct records *records);

/* The user's file. A missing one is empty. Without tries, only those choices are read that can be taken: of a
 * case on a device the latest of each origin. */
hone_status records_load(struct records *records, unsigned kinds, hone_error *error);
/* The same, with nothing of other filters. */
hone_status records_load_of(struct records *records, unsigned kinds, const char *filter, hone_error *error);
hone_status records_load_file(struct records *records, const char *path, unsigned kinds, hone_error *error);
/* How many tries the user's file has, counted without being kept: a file of hundreds of megabytes costs a
 * second. */
struct record_try_counts {
    size_t tries;    /* without those that were called off */
    size_t measured; /* of them, with an outcome */
    size_t skipped;  /* damaged lines */
};
hone_status records_count_tries(struct record_try_counts *counts, hone_error *error);
/* Path of the user's file, for messages. */
hone_status records_path(char path[], hone_error *error);

/* Appending to the user's file: locked, synced, a whole line or an error. */
hone_status records_add_try(const struct record_try *record, hone_error *error);
hone_status records_add_choice(const struct record_choice *record, hone_error *error);
hone_status records_add_trust(const struct record_trust *record, hone_error *error);
/* Rewrites the user's file now if most of it is superseded; *done tells. Appending does that by itself, once
 * for every 4 MiB. */
hone_status records_compact(bool *done, hone_error *error);
/* Appends every readable line of another file that is not there yet; *added counts. */
hone_status records_merge(const char *path, size_t *added, hone_error *error);

/* A record as one line without the newline. */
struct text;
void record_choice_print(const struct record_choice *record, struct text *out);
