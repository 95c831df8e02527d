/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/lint/lint.h"

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "lab/lint/internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void lint_add(struct lint_job *job, enum rule rule, unsigned line, unsigned column, const char *format, ...)
{
    struct lint_result *result = job->result;
    struct lint_finding finding = {.rule = lint_rule_at(rule), .line = line, .column = column};
    va_list args;
    va_start(args, format);
    vsnprintf(finding.what, sizeof finding.what, format, args);
    va_end(args);
    const size_t last = 256; /* what a macro brings to one place comes together */
    for (size_t i = result->count > last ? result->count - last : 0; i < result->count; i++)
        if (result->findings[i].rule == finding.rule && result->findings[i].line == line &&
            result->findings[i].column == column)
            return;
    if (!mem_grow(&result->findings, &result->capacity, result->count + 1, sizeof *result->findings)) {
        job->failed = true;
        return;
    }
    result->findings[result->count++] = finding;
}

void lint_allow(struct lint_job *job, struct lint_finding *finding, const char *reason)
{
    free(finding->reason);
    finding->reason = mem_copy_text(reason);
    job->failed = job->failed || !finding->reason;
}

static int by_place(const void *a, const void *b)
{
    const struct lint_finding *x = a, *y = b;
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    if (x->column != y->column)
        return x->column < y->column ? -1 : 1;
    return strcmp(x->rule->name, y->rule->name);
}

/* The tree of the file, behind what hone puts before it where it is a filter of one's own. */
static hone_status judge_tree(struct lint_job *job, const struct lint_options *options, hone_error *error)
{
    struct lint_head head = {0};
    hone_status status = lint_own_head(&head, job, error);
    THEN(status, lint_tree(job, options, &head, error));
    text_finish(&head.text);
    text_finish(&head.options);
    return status;
}

static hone_status judge(struct lint_job *job, const struct lint_options *options, hone_error *error)
{
    enum { MOST = 16 << 20 };
    hone_status status = file_read(job->path, MOST, &job->source, error);
    if (!status && memchr(text_view(&job->source), '\0', job->source.length))
        status = error_io(error, "'%s' is no source text: it holds a zero byte", job->path);
    THEN(status, judge_tree(job, options, error));
    if (status)
        return status;
    lint_comments(job);
    TRY(lint_folder(job, error));
    return job->failed ? error_memory(error, "the findings") : HONE_OK;
}

hone_status lint_file(struct lint_result *result, const char *path, const struct lint_options *options,
                      hone_error *error)
{
    struct lint_job job = {.path = path, .result = result};
    *result = (struct lint_result){0};
    hone_status status = judge(&job, options, error);
    text_finish(&job.source);
    if (status) {
        lint_finish(result);
        return status;
    }
    if (result->count)
        qsort(result->findings, result->count, sizeof *result->findings, by_place);
    for (size_t i = 0; i < result->count; i++)
        result->silenced += result->findings[i].reason != NULL;
    return HONE_OK;
}

void lint_finish(struct lint_result *result)
{
    for (size_t i = 0; i < result->count; i++)
        free(result->findings[i].reason);
    free(result->findings);
    *result = (struct lint_result){0};
}
