/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/text.h"
#include "lab/lint/lint.h"

enum rule {
    RULE_SIZE_T,
    RULE_INDEX_64,
    RULE_DIVISION,
    RULE_MODULO,
    RULE_PRIVATE_ARRAY,
    RULE_TABLE,
    RULE_WIDE_LOAD,
    RULE_CONSTANT_BYTES,
    RULE_CONSTANT_SCATTER,
    RULE_CONSTANT_SIZE,
    RULE_CONST,
    RULE_RESTRICT,
    RULE_GROUP_SIZE,
    RULE_BRANCH,
    RULE_DOUBLE,
    RULE_BARRIER_LOOP,
    RULE_FENCE,
    RULE_PRECISE_MATH,
    RULE_SLOW_MATH,
    RULE_GLOBAL_ATOMIC,
    RULE_GENERIC,
    RULE_PRINTF,
    RULE_ALLOW,
    RULE_COUNT
};

/* A file that is looked at. */
struct lint_job {
    const char *path;
    struct text source;
    struct lint_result *result;
    bool failed; /* memory ran out */
};

/* Once per rule and place. */
void lint_add(struct lint_job *job, enum rule rule, unsigned line, unsigned column, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* What comes before a file's own text, and what the compiler is told for it. */
struct lint_head {
    struct text text, options; /* options: "-DA=1 -DB=2" */
};

/* own.c: that of a filter of one's own; nothing for other files. */
hone_status lint_own_head(struct lint_head *head, const struct lint_job *job, hone_error *error);

/* clang_tree.c: findings in the syntax tree. Options of `head` are changed. */
hone_status lint_tree(struct lint_job *job, const struct lint_options *options, struct lint_head *head,
                      hone_error *error);

/* comments.c: takes back what comments allow, and finds comments that are wrong. */
void lint_comments(struct lint_job *job);

/* folder.c: takes back what the files .hone-lint beside it and in the folder above allow. */
hone_status lint_folder(struct lint_job *job, hone_error *error);

/* Takes back a finding for a reason; whether that worked is in job->failed. */
void lint_allow(struct lint_job *job, struct lint_finding *finding, const char *reason);
