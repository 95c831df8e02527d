/* SPDX-License-Identifier: BSD-2-Clause */
/* Tuning kernels of the user's own, between the files of it (own*.c) and cmd_tune.c. */
#pragma once

#include "base/text.h"
#include "cli/cli.h"
#include "cli/tune/tune.h"
#include "tune/own/session.h"
#include "tune/session/budget.h"
#include "tune/worker/memory_file.h"

/* Whether the arguments ask for a kernel of the user's own, and the command for that. */
bool tune_wants_kernel(int argc, char **argv);
int tune_kernel(int argc, char **argv);

/* What `hone tune --help` says of it. */
#define KERNEL_HELP                                                                                          \
    "\n"                                                                                                     \
    "Tuning your own kernel (see docs/tuning.md):\n"                                                         \
    "\n"                                                                                                     \
    "  hone tune --kernel-file blur.cl --kernel blur --param TILE=8,16,32 --param VEC=1,2,4 \\\n"            \
    "    --restrict 'TILE*VEC<=64' --global 'W/VEC,H' --local 'TILE,4' \\\n"                                 \
    "    --arg in:in.png --arg out:u8:W*H --arg int:W --arg int:H\n"                                         \
    "\n"                                                                                                     \
    "  --kernel-file F  source file; lines '//@tune SETTING VALUE' in it set the options below, without\n"   \
    "                   their dashes\n"                                                                      \
    "  --spec F         read the whole specification from a T1 file\n"                                       \
    "  --kernel NAME    kernel to tune, if the source has several\n"                                         \
    "  --param N=V,V    values of a macro, or of a name in expressions; the search starts with the\n"        \
    "                   first; words and fractions (float4, 0.5) are for macros only\n"                      \
    "  --restrict E     expression that must hold; can be repeated\n"                                        \
    "  --global E,E,E   number of work-items\n"                                                              \
    "  --local E,E,E    work-group size (default: chosen by the driver)\n"                                   \
    "  --arg A          one kernel argument, in order: in:FILE in:TYPE:FILE random:TYPE:COUNT\n"             \
    "                   zero:TYPE:COUNT out:TYPE:COUNT inout:... local:TYPE:COUNT image:in:FILE\n"           \
    "                   image:out:TYPE:CHANNELS:WIDTH:HEIGHT sampler:nearest,edge TYPE:VALUE\n"              \
    "  --define N=E     name for use in expressions; W, H and C are those of the first image\n"              \
    "  --options O      compiler options\n"                                                                  \
    "  --check C        expected result: baseline (default: the first configuration's), FILE,\n"             \
    "                   LIBRARY.so:FUNCTION or none\n"                                                       \
    "  --tolerance T    largest accepted difference (default: 0 for integers)\n"                             \
    "  --relative T     the same relative to the expected value; both are added\n"                           \
    "  --cold           flush the caches before each timed launch\n"                                         \
    "  --bytes E        bytes moved per launch, to report GB/s\n"                                            \
    "  --flops E        operations per launch, to report GFLOP/s\n"                                          \
    "  -o, --output F   write all results as a T4 file\n"                                                    \
    "  --header F       write the best values as #defines\n"                                                 \
    "  --build-timeout N  seconds after which a compilation is abandoned (default 60)\n"                     \
    "  --trust          also read images whose decoders are not meant for untrusted files\n"                 \
    "  --decode-memory N  MiB that decoding one image may use (default 2048)\n"

/* ---- Inside own*.c ---- */

struct kernel_run {
    struct common_options common;
    const char *kernel_file, *spec_file, *output, *header, *budget;
    double seed;
    const char *kernel, *global, *local, *tolerance, *relative, *bytes, *flops;
    struct option_list params, rules, arguments, defines, options, checks;
    double evaluations;   /* 0: by --quick and --full */
    double memory;        /* MiB; 0: by the machine */
    double decode_memory; /* MiB; 0: the default */
    double max_pixels;    /* of an image; 0: the default */
    bool quick, full, fresh, cold, trust;
    struct tune_wishes wishes;
    struct own_spec *spec;
    struct text source;
    char *folder; /* of the kernel's file */
    struct held_file held[OWN_MAX_ARGUMENTS];
    hone_image_desc first_picture; /* among the arguments; width 0: none */
    struct own_request request;
    struct session_options session;
    struct own_session_result result;
    struct budget_view left; /* what was told of the time that is left */
    uint64_t start;
    bool on_terminal;
};

/* Reads what arguments take from files, and defines W, H and C by the first image. */
hone_status tune_kernel_files(struct kernel_run *run, hone_error *error);
/* An own_request.read_right; the context is the run. */
hone_status tune_kernel_right(void *context, int index, enum element element, size_t count, void *to,
                              hone_error *error);
/* Prints the result as a table or as JSON; false when memory ran out. */
bool tune_kernel_report(const struct kernel_run *run);
