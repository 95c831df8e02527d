/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * A kernel of the user's own and how it is to be tuned: what flags, a T1 file or comments in its source say.
 *
 * All three become settings, pairs of a name and a text ("param", "TILE=8,16,32"), so that one parser and one
 * set of messages serve all, and so that the worker process gets the same specification as the parent.
 * docs/tuning.md describes the settings for users.
 */
#pragma once

#include "base/expr.h"
#include "cl/program.h"
#include "filter/variant.h"
#include "tune/own/spec/element.h"
#include "tune/search/space.h"

#include <jansson.h>

enum {
    OWN_MAX_ARGUMENTS = 32,
    OWN_MAX_RULES = 32,
    OWN_MAX_DEFINES = 32,
    OWN_MAX_OPTIONS = 16,
    OWN_MAX_LANES = 16,
    OWN_MAX_CHECKS = 8,
    OWN_MAX_WORD = 39,
    OWN_MAX_SOURCE = 4 << 20
};

struct text;

/* An expression and the text it was made of. */
struct formula {
    char *text; /* NULL: none */
    struct expr expr;
};

enum own_argument_kind { OWN_BUFFER, OWN_IMAGE, OWN_SAMPLER, OWN_LOCAL, OWN_SCALAR };
enum own_argument_role { ROLE_IN, ROLE_OUT, ROLE_INOUT };
enum own_argument_fill { FILL_CONSTANT, FILL_RANDOM, FILL_FILE };

/* Content that the parent has found in a file. */
struct own_data {
    char path[128]; /* where the worker can read it; "": nothing yet */
    uint64_t bytes;
    enum element element;
    uint32_t channels, width, height; /* 0: a file without a shape */
    uint64_t identity;                /* another content, another number */
};

struct own_argument {
    char *text; /* as given, for messages */
    enum own_argument_kind kind;
    enum own_argument_role role;
    enum own_argument_fill fill;
    enum element element;
    int lanes;
    bool typed;      /* the text names a type */
    bool normalised; /* images: integers are read as 0..1 */
    double constant;
    char *file;
    struct formula *sizes[3];              /* a count; or channels, width, height */
    struct formula *values[OWN_MAX_LANES]; /* of a scalar or a vector */
    struct sampler sampler;
    struct own_data data;
};

enum own_check { CHECK_BASELINE, CHECK_FILES, CHECK_LIBRARY, CHECK_NONE };

struct own_define {
    char name[EXPR_MAX_NAME + 1];
    struct formula *value;
};

/* Of a parameter whose values are no whole numbers ("float4", "0.5"): its value i stands for word i. The
 * first is "" where they are. */
struct own_words {
    char list[SPACE_MAX_VALUES][OWN_MAX_WORD + 1];
};

struct own_spec {
    char *file, *kernel, *options[OWN_MAX_OPTIONS];
    int option_count;
    struct space_parameter parameters[SPACE_MAX_PARAMETERS];
    struct own_words words[SPACE_MAX_PARAMETERS];
    int parameter_count;
    struct formula *rules[OWN_MAX_RULES];
    int rule_count;
    struct own_define defines[OWN_MAX_DEFINES]; /* later ones may use earlier ones */
    int define_count;
    struct formula *global[3], *local[3]; /* local[0] NULL: the driver chooses */
    bool global_in_groups;                /* global counts work-groups, as CUDA's grid does */
    struct own_argument arguments[OWN_MAX_ARGUMENTS];
    int argument_count;
    enum own_check check;
    char *checks[OWN_MAX_CHECKS]; /* files, one per output; or "library.so:function" */
    int check_count;
    bool has_tolerance, summed;
    bool cold;                     /* caches are emptied before each launch that is timed */
    double tolerance, relative;    /* |difference| <= tolerance + relative * |right| */
    struct formula *bytes, *flops; /* of one launch, for GB/s and GFLOP/s; may be NULL */
    int budget_count;              /* of evaluations, and seconds, that a T1 file asks for; 0: nothing */
    double budget_seconds;
};

struct own_spec *own_spec_new(void);
void own_spec_free(struct own_spec *spec);

/**
 * Takes one setting: kernel-file, kernel, param, restrict, global, local, arg, define, options, check,
 * tolerance, relative, bytes, flops, cold. Names of files are taken relative to `folder` (NULL: as they are).
 * param and define replace what had the same name; restrict, arg, options add; the others replace.
 * HONE_ERROR_USAGE names the setting.
 */
hone_status own_spec_set(struct own_spec *spec, const char *name, const char *value, const char *folder,
                         hone_error *error);
/* The same for a setting that stands in a file, which may be a stranger's: native code (a check by a library)
 * is HONE_ERROR_USAGE. */
hone_status own_spec_set_from_file(struct own_spec *spec, const char *name, const char *value,
                                   const char *folder, hone_error *error);
/* Forgets arguments, or checks, before others take their place. */
void own_spec_clear_arguments(struct own_spec *spec);
void own_spec_clear_checks(struct own_spec *spec);

/* Defines W, H and C anew, before everything else. */
hone_status own_spec_set_size(struct own_spec *spec, uint32_t width, uint32_t height, uint32_t channels,
                              hone_error *error);

/* Whether everything that is needed is there, and what is there makes sense together. */
hone_status own_spec_check(const struct own_spec *spec, hone_error *error);
/* Whether an expression or the compiler's options have the name of a parameter. */
bool own_spec_mentions(const struct own_spec *spec, int parameter);

/* The settings as an array of pairs (null for one that is no UTF-8), and back. Data of files is not part of
 * it. */
json_t *own_spec_settings(const struct own_spec *spec);
hone_status own_spec_from(struct own_spec *spec, const json_t *settings, hone_error *error);

/* ---- Configurations ---- */

bool own_has_words(const struct own_spec *spec, int parameter);
/* A value as the compiler gets it. */
void own_value_print(const struct own_spec *spec, int parameter, int64_t value, struct text *out);

/* "TILE=8 VEC=1", and back: names that are missing keep what values held. */
void own_spec_print(const struct own_spec *spec, const int64_t *values, struct text *out);
hone_status own_spec_parse(const struct own_spec *spec, const char *config, int64_t *values,
                           hone_error *error);

/* Values of the definitions with the names of `outer`. names and values hold OWN_MAX_DEFINES. */
hone_status own_spec_define(const struct own_spec *spec, const struct expr_scope *outer, const char **names,
                            int64_t *values, hone_error *error);

/* A configuration's values as the innermost names. */
struct own_scope {
    struct expr_scope scope;
    const char *names[SPACE_MAX_PARAMETERS];
};
void own_scope_init(struct own_scope *scope, const struct own_spec *spec, const int64_t *values,
                    const struct expr_scope *outer);

/* A formula's value with the place named in messages: HONE_ERROR_USAGE where it has none. */
hone_status formula_value(const struct formula *formula, const struct expr_scope *scope, const char *what,
                          int64_t *value, hone_error *error);

/* Whether a configuration keeps the rules and the device's limits, and how it is launched.
 * HONE_ERROR_UNSUPPORTED says what it breaks, HONE_ERROR_USAGE which expression has no value. */
hone_status own_spec_launch(const struct own_spec *spec, const struct expr_scope *outer,
                            const struct variant_limits *limits, const int64_t *values, struct launch *launch,
                            hone_error *error);

/* Its parameters as a space of one path; `legal` and `context` are the caller's. */
void own_spec_space(const struct own_spec *spec, struct space *space);
/* The first legal configuration: the first values if they are legal. Says why that was not when there is
 * none. */
hone_status own_spec_first(const struct own_spec *spec, const struct expr_scope *outer,
                           const struct variant_limits *limits, int64_t *values, hone_error *error);

/* ---- For the files that read settings ---- */

/* "TILE=8,16,32" */
hone_status own_parameter_set(struct own_spec *spec, const char *text, hone_error *error);
/* "NAME=rest" of the setting `what`: the length of the name. */
hone_status own_split_name(const char *what, const char *text, size_t *length, hone_error *error);
/* "out:u8:W*H" */
hone_status own_argument_parse(struct own_argument *argument, const char *text, const char *folder,
                               hone_error *error);
void own_argument_finish(struct own_argument *argument);
hone_status formula_new(struct formula **out, const char *text, size_t length, hone_error *error);
void formula_free(struct formula **formula);
/* folder/name, or a copy of the name where that is absolute or there is no folder; NULL without memory. */
char *kernel_path(const char *folder, const char *name);
