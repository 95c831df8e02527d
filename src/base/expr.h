/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The small expression language of filter descriptions, tuning constraints and launch geometry.
 *
 *   ?:   || or   && and   == != < <= > >=   + -   * / %   unary - ! not   ( )
 *   min(a,b) max(a,b) ceildiv(a,b) roundup(a,b) abs(a) sqrt(a) log2(a)    names   123  1.5
 *
 * Comparisons in a row, `8 <= a*b <= 64`, all have to hold. Evaluated in two ways. Integers (64 bits, `/`
 * truncates, overflow and division by zero are errors) for launches, sizes and constraints; doubles for cost
 * formulas. `and`, `or` and `//` are accepted as Kernel Tuner and T1 files write them. Parsing is bounded in
 * length and depth, so that text from a file cannot exhaust the stack.
 */
#pragma once

#include "hone/status.h"

#include <stdbool.h>
#include <stdint.h>

enum { EXPR_MAX_NODES = 96, EXPR_MAX_NAME = 31 };

struct expr_node {
    int16_t op, left, right, third; /* children by index; -1: none */
    int16_t column;                 /* of a name, from 1 */
    double number;
    int64_t whole; /* of the same number; above 2^53 they differ, and 0 stands for what is too large */
    char name[EXPR_MAX_NAME + 1];
};

struct expr {
    int count, root;
    struct expr_node nodes[EXPR_MAX_NODES];
};

/* Names and their values; scopes chain, the innermost wins. `find`, unless NULL, is asked for names that are
 * not listed, when an expression needs their value and not before; `real` too, by expr_real alone. */
struct expr_scope {
    const struct expr_scope *outer;
    const char *const *names;
    const int64_t *values;
    int count;
    bool (*find)(void *context, const char *name, int64_t *value);
    bool (*real)(void *context, const char *name, double *value);
    void *context;
};

/* A mistake is HONE_ERROR_USAGE with the column in error->column. */
hone_status expr_parse(struct expr *expr, const char *text, hone_error *error);

/* The value with names from scope. Unknown name, overflow, division by zero: HONE_ERROR_USAGE. */
hone_status expr_value(const struct expr *expr, const struct expr_scope *scope, int64_t *value,
                       hone_error *error);
hone_status expr_real(const struct expr *expr, const struct expr_scope *scope, double *value,
                      hone_error *error);

/* Parses and evaluates in one step. NULL or "" gives `otherwise`. */
hone_status expr_text_value(const char *text, const struct expr_scope *scope, int64_t otherwise,
                            int64_t *value, hone_error *error);
hone_status expr_text_real(const char *text, const struct expr_scope *scope, double otherwise, double *value,
                           hone_error *error);

/* True when the expression mentions `name`. */
bool expr_mentions(const struct expr *expr, const char *name);

/* The first name in the expression that scope does not have; NULL: it has all. *column, unless NULL, is where
 * it stands in the text. */
const char *expr_unknown(const struct expr *expr, const struct expr_scope *scope, int *column);

/* Looks a name up through the scopes. */
bool expr_lookup(const struct expr_scope *scope, const char *name, int64_t *value);
