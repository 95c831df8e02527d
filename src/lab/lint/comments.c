/* SPDX-License-Identifier: BSD-2-Clause */
/* "hone-lint: allow RULE: reason" in comments. */
#include "base/mem.h"
#include "lab/lint/internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char mark[] = "hone-lint:";

struct allowance {
    char rule[32];
    char *reason;
    bool whole_file, alone; /* alone: nothing but the comment stands on its line, which means the next one */
    unsigned line, column;
};

static const char *skip_blanks(const char *at)
{
    while (*at == ' ' || *at == '\t')
        at++;
    return at;
}

/* Whether `at` lies in a comment of this line; that of a longer one counts, too. */
static bool is_alone(const char *line, const char *at)
{
    line = skip_blanks(line);
    return line[0] == '*' || (line[0] == '/' && (line[1] == '/' || line[1] == '*')) || line == at;
}

/* What is wrong with it, or NULL. `at` is behind the mark. */
static const char *parse(struct allowance *allowance, const char *at)
{
    static const char file[] = "allow-file", line[] = "allow";
    at = skip_blanks(at);
    allowance->whole_file = text_starts(at, file);
    if (!allowance->whole_file && !text_starts(at, line))
        return "it says neither allow nor allow-file";
    at = skip_blanks(at + (allowance->whole_file ? sizeof file : sizeof line) - 1);
    size_t length = strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789-");
    if (length == 0 || length >= sizeof allowance->rule)
        return "it names no rule";
    memcpy(allowance->rule, at, length);
    if (!lint_rule_find(allowance->rule))
        return "there is no such rule (hone lint --rules lists them)";
    at = skip_blanks(at + length);
    if (*at != ':')
        return "a colon and a reason are missing";
    at = skip_blanks(at + 1);
    length = strcspn(at, "\r\n");
    for (const char *end = at; end < at + length; end++)
        if (end[0] == '*' && end[1] == '/')
            length = (size_t)(end - at);
    while (length > 0 && isspace((unsigned char)at[length - 1]))
        length--;
    if (length < 3)
        return "the reason is missing";
    allowance->reason = mem_copy_text_n(at, length);
    return NULL;
}

static bool covers(const struct allowance *allowance, const struct lint_finding *finding)
{
    const unsigned line = allowance->line + (allowance->alone ? 1 : 0);
    return strcmp(finding->rule->name, allowance->rule) == 0 &&
           (allowance->whole_file || finding->line == line);
}

static void apply(struct lint_job *job, struct allowance *allowance)
{
    bool used = false;
    if (!allowance->reason) {
        job->failed = true;
        return;
    }
    for (size_t i = 0; i < job->result->count; i++) {
        struct lint_finding *finding = &job->result->findings[i];
        if (!covers(allowance, finding))
            continue;
        used = true;
        lint_allow(job, finding, allowance->reason);
    }
    if (!used)
        lint_add(job, RULE_ALLOW, allowance->line, allowance->column, "nothing here is found by '%s'",
                 allowance->rule);
    free(allowance->reason);
}

void lint_comments(struct lint_job *job)
{
    const char *line = text_view(&job->source);
    for (unsigned number = 1; *line; number++) {
        const size_t length = strcspn(line, "\n");
        const char *at = strstr(line, mark);
        if (at && at < line + length) {
            struct allowance allowance = {
                .line = number, .column = (unsigned)(at - line) + 1, .alone = is_alone(line, at)};
            const char *wrong = parse(&allowance, at + sizeof mark - 1);
            if (wrong)
                lint_add(job, RULE_ALLOW, number, allowance.column, "%s", wrong);
            else
                apply(job, &allowance);
        }
        line += length + (line[length] == '\n');
    }
}
