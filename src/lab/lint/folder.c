/* SPDX-License-Identifier: BSD-2-Clause */
/* Files .hone-lint: a line "FILE RULE: reason" for each rule that does not hold for a file. */
#include "base/error.h"
#include "base/file.h"
#include "lab/lint/internal.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_FILE = 1 << 20, MAX_WORD = 128 };

struct entry {
    char pattern[MAX_WORD], rule[MAX_WORD], reason[512];
};

/* False: the line says nothing. */
static bool parse(const char *line, struct entry *entry, bool *wrong)
{
    int read = 0;
    *wrong = false;
    if (!line[strspn(line, " \t\r")] || line[strspn(line, " \t")] == '#')
        return false;
    *wrong = sscanf(line, "%127s %127[a-z0-9-] : %511[^\r\n]%n", entry->pattern, entry->rule, entry->reason,
                    &read) != 3 ||
             strlen(entry->reason) < 3 || !lint_rule_find(entry->rule);
    return true;
}

/* One that names this file alone has to have something to allow. */
static void apply(struct lint_job *job, const struct entry *entry, const char *name)
{
    bool used = strpbrk(entry->pattern, "*?[") != NULL;
    if (fnmatch(entry->pattern, name, 0) != 0)
        return;
    for (size_t i = 0; i < job->result->count; i++) {
        struct lint_finding *finding = &job->result->findings[i];
        if (strcmp(finding->rule->name, entry->rule) != 0)
            continue;
        used = true;
        if (!finding->reason)
            lint_allow(job, finding, entry->reason);
    }
    if (!used)
        lint_add(job, RULE_ALLOW, 1, 1, "nothing here is found by '%s', which .hone-lint allows",
                 entry->rule);
}

/* `name`: of the judged file, seen from the folder of the list. */
static hone_status take_list(struct lint_job *job, const char *list, const char *name, hone_error *error)
{
    struct text text = {0};
    hone_status status = file_read(list, MAX_FILE, &text, error);
    const char *line = text_view(&text);
    for (unsigned number = 1; *line && !status; number++) {
        const size_t length = strcspn(line, "\n");
        char one[1024];
        struct entry entry = {.pattern = ""};
        bool wrong;
        snprintf(one, sizeof one, "%.*s", (int)(length < sizeof one ? length : sizeof one - 1), line);
        if (parse(one, &entry, &wrong) && wrong)
            status = error_io(
                error,
                "'%s', line %u: FILE RULE: reason is what belongs there (hone lint --rules lists the rules)",
                list, number);
        else if (entry.pattern[0])
            apply(job, &entry, name);
        line += length + (line[length] == '\n');
    }
    text_finish(&text);
    return status;
}

/* Up to the slash before the last `parts` parts of a path. */
static size_t folder_length(const char *path, int parts)
{
    size_t length = strlen(path);
    for (; parts > 0; parts--) {
        while (length > 0 && path[length - 1] != '/')
            length--;
        length -= parts > 1 && length > 0;
    }
    return length;
}

hone_status lint_folder(struct lint_job *job, hone_error *error)
{
    hone_status status = HONE_OK;
    char *path = realpath(job->path, NULL);
    for (int parts = 1; path && parts <= 2 && !status; parts++) {
        struct text list = {0};
        const size_t length = folder_length(path, parts);
        text_add(&list, "%.*s.hone-lint", (int)length, path);
        if (length > 0 && !list.failed && access(text_view(&list), F_OK) == 0)
            status = take_list(job, text_view(&list), path + length, error);
        job->failed = job->failed || list.failed;
        text_finish(&list);
    }
    free(path);
    return status;
}
