/* SPDX-License-Identifier: BSD-2-Clause */
#include "tune/own/spec/sources.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static const char mark[] = "//@tune";

struct reader {
    struct own_spec *spec;
    const char *folder;
    bool ours; /* the lines here belong to the kernel that is tuned */
};

static hone_status take_kernel(struct reader *r, const char *name, hone_error *error)
{
    if (!r->spec->kernel)
        TRY(own_spec_set_from_file(r->spec, "kernel", name, NULL, error));
    r->ours = strcmp(r->spec->kernel, name) == 0;
    return HONE_OK;
}

/* "SETTING VALUE" without spaces around it. */
static hone_status take_setting(struct reader *r, char *text, hone_error *error)
{
    size_t length = strcspn(text, " \t");
    char *value = text + length + strspn(text + length, " \t");
    text[length] = '\0';
    if (strcmp(text, "kernel") == 0)
        return take_kernel(r, value, error);
    if (strcmp(text, "kernel-file") == 0)
        return error_usage(error, "the file is this one");
    return r->ours ? own_spec_set_from_file(r->spec, text, value, r->folder, error) : HONE_OK;
}

static hone_status take_line(struct reader *r, const char *line, size_t length, hone_error *error)
{
    while (length > 0 && strchr(" \t\r", line[length - 1]))
        length--;
    char *text = mem_copy_text_n(line, length);
    hone_status status = text ? take_setting(r, text, error) : error_memory(error, "a comment");
    free(text);
    return status;
}

hone_status own_spec_read_comments(struct own_spec *spec, const char *source, const char *folder,
                                   hone_error *error)
{
    struct reader r = {.spec = spec, .folder = folder, .ours = true};
    hone_status status = HONE_OK;
    int number = 1;
    for (const char *line = text_after_mark(source); *line && !status; number++) {
        size_t length = strcspn(line, "\n"), blank = strspn(line, " \t");
        if (text_starts(line + blank, mark)) {
            const char *text = line + blank + sizeof mark - 1;
            text += strspn(text, " \t");
            status = take_line(&r, text, (size_t)(line + length - text), error);
            if (status)
                error_prefix(error, "line %d", number);
        }
        line += length + (line[length] == '\n');
    }
    return status;
}
