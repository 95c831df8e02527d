/* SPDX-License-Identifier: BSD-2-Clause */
#include "choose/shipped.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

/* Generated from data/tuning/shipped.jsonl: choices, one a line. */
extern const char shipped_text[];

hone_status shipped_records(const char *filter, struct records *records, hone_error *error)
{
    hone_status status = HONE_OK;
    char mark[96];
    snprintf(mark, sizeof mark, "\"filter\":\"%s\"", filter);
    *records = (struct records){0};
    for (const char *line = shipped_text; *line && !status;) {
        size_t length = strcspn(line, "\n");
        if (memmem(line, length, mark, strlen(mark))) {
            struct text one = {0};
            text_add_bytes(&one, line, length);
            status = records_parse(records, text_view(&one), READ_CHOICES, error);
            text_finish(&one);
        }
        line += length + (line[length] == '\n');
    }
    if (status)
        records_finish(records);
    return status;
}
