/* SPDX-License-Identifier: BSD-2-Clause */
/* Filters of one's own (docs/own-filters.md), whose text alone is no program. */
#include "filter/own/own.h"
#include "base/error.h"
#include "filter/case.h"
#include "filter/instance.h"
#include "filter/registry.h"
#include "hone/filter.h"
#include "lab/lint/internal.h"

#include <string.h>

static bool is_own(const char *text)
{
    static const char mark[] = "//@filter";
    const char *at = strstr(text, mark);
    while (at && at != text && at[-1] != '\n')
        at = strstr(at + 1, mark);
    return at != NULL;
}

/* The options of the first variant, for the first format. What depends on a device is missing in them. */
static hone_status add_options(struct text *options, const struct hone_filter *filter, hone_error *error)
{
    struct filter_case c;
    struct config config;
    hone_image_desc in = {.width = 64, .height = 64};
    hone_error unknown;
    filter_first_format(filter, &in);
    TRY(case_init(&c, filter, error));
    hone_status status = case_prepare(&c, &in, NULL, error);
    config_default(filter->variants, &config);
    if (!status)
        variant_options(options, NULL, &c, filter->variants, &config, &unknown);
    case_finish(&c);
    return !status && options->failed ? error_memory(error, "compiler options") : status;
}

hone_status lint_own_head(struct lint_head *head, const struct lint_job *job, hone_error *error)
{
    if (!is_own(text_view(&job->source)))
        return HONE_OK;
    hone_status status = hone_filter_load(job->path, text_view(&job->source), NULL, error);
    if (status == HONE_ERROR_USAGE) {
        status = HONE_ERROR_IO; /* as of a file that does not compile */
        if (error)
            error->status = status;
    }
    const struct hone_filter *filter = status ? NULL : registry_find(job->path);
    THEN(status, filter_own_head(&head->text, filter, error));
    THEN(status, add_options(&head->options, filter, error));
    if (filter) /* files of one name in several folders may be judged */
        own_forget(filter);
    return status;
}
