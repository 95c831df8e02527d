/* SPDX-License-Identifier: BSD-2-Clause */
/* Tuning kernels of the user's own, between the files of it (tune_kernel*.c) and cmd_tune.c. */
#ifndef CLI_TUNE_KERNEL_H
#define CLI_TUNE_KERNEL_H

#include "base/text.h"
#include "cli/cli.h"
#include "tune/kernel_session.h"

/* Whether the arguments ask for a kernel of the user's own, and the command for that. */
bool tune_wants_kernel(int argc, char **argv);
int tune_kernel(int argc, char **argv);

/* "60s", "5m", "1h", "90"; NULL is 0. */
hone_status tune_parse_seconds(const char *text, double *seconds, hone_error *error);

/* What `hone tune --help` says of it. */
#define KERNEL_HELP                                                                                          \
    "\n"                                                                                                     \
    "A kernel of your own (docs/tuning.md has it all):\n"                                                    \
    "\n"                                                                                                     \
    "  hone tune --kernel-file blur.cl --kernel blur --param TILE=8,16,32 --param VEC=1,2,4 \\\n"            \
    "    --restrict 'TILE*VEC<=64' --global 'W/VEC,H' --local 'TILE,4' \\\n"                                 \
    "    --arg in:in.png --arg out:u8:W*H --arg int:W --arg int:H\n"                                         \
    "\n"                                                                                                     \
    "  --kernel-file F  the source; lines '//@tune SETTING VALUE' in it give what follows, without dashes\n" \
    "  --spec F         all of it from a T1 file\n"                                                          \
    "  --kernel NAME    which kernel of the source\n"                                                        \
    "  --param N=V,V    values of a macro, or of a name in the expressions; the first is where the search "  \
    "begins;\n"                                                                                              \
    "                   words and fractions (float4, 0.5) are for macros alone\n"                            \
    "  --restrict E     an expression that must hold; again for more\n"                                      \
    "  --global E,E,E   work-items\n"                                                                        \
    "  --local E,E,E    of a work-group (default: the driver chooses)\n"                                     \
    "  --arg A          an argument, in their order: in:FILE in:TYPE:FILE random:TYPE:COUNT "                \
    "zero:TYPE:COUNT\n"                                                                                      \
    "                   out:TYPE:COUNT inout:... local:TYPE:COUNT image:in:FILE\n"                           \
    "                   image:out:TYPE:CHANNELS:WIDTH:HEIGHT sampler:nearest,edge, and TYPE:VALUE for "      \
    "numbers\n"                                                                                              \
    "  --define N=E     a name for expressions; W, H and C are those of the first image\n"                   \
    "  --options O      for the compiler\n"                                                                  \
    "  --check C        baseline (default: the first configuration's result), FILE, LIBRARY.so:FUNCTION or " \
    "none\n"                                                                                                 \
    "  --tolerance T    largest difference that is right (default: 0 for integers)\n"                        \
    "  --relative T     the same as a part of the right value; both add up\n"                                \
    "  --cold           empty the caches before each launch that is timed\n"                                 \
    "  --bytes E        moved by a launch, for GB/s\n"                                                       \
    "  --flops E        done by a launch, for GFLOP/s\n"                                                     \
    "  -o, --output F   all results as a T4 file\n"                                                          \
    "  --header F       the best values as #defines\n"                                                       \
    "  --build-timeout N  seconds after which a compilation is given up (default 60)\n"

/* ---- Inside tune_kernel*.c ---- */

struct kernel_run {
    struct common_options common;
    const char *kernel_file, *spec_file, *output, *header, *budget, *seed;
    const char *kernel, *global, *local, *tolerance, *relative, *bytes, *flops;
    struct option_list params, rules, arguments, defines, options, checks;
    double evaluations; /* 0: by --quick and --full */
    double memory;      /* MiB; 0: by the machine */
    bool quick, full, fresh, cold;
    struct kernel_spec *spec;
    struct text source;
    char *folder; /* of the kernel's file */
    struct held_file held[KERNEL_MAX_ARGUMENTS];
    hone_image_desc first_picture; /* among the arguments; width 0: none */
    struct kernel_session_options session;
    struct kernel_session_result result;
    uint64_t start;
    bool on_terminal;
};

/* Reads what arguments take from files, and defines W, H and C by the first image. */
hone_status tune_kernel_files(struct kernel_run *run, hone_error *error);
/* A kernel_session_options.read_right; the context is the run. */
hone_status tune_kernel_right(void *context, int index, enum element element, size_t count, void *to,
                              hone_error *error);
/* Prints the result as a table or as JSON; false when memory ran out. */
bool tune_kernel_report(const struct kernel_run *run);

#endif
