/* SPDX-License-Identifier: BSD-2-Clause */
/* hone apply: which device. Where several could do it and none is named, the one that will be done first. */
#include "cli/apply/apply.h"

#include "base/error.h"
#include "cli/pick/pick_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void tell(void *context, const char *sentence)
{
    cli_note(context, "%s", sentence);
}

static hone_status pick(const struct engine *engine, const hone_image_desc *input,
                        const hone_image_desc *second, unsigned *index, hone_error *error)
{
    struct common_options *common = (struct common_options *)&engine->options->common;
    const struct pick_request request = {.chain = engine->chain,
                                         .input = input,
                                         .second = second,
                                         .second_count = engine->second_count,
                                         .device = cli_device_request(common),
                                         .tell = tell,
                                         .context = common};
    return pick_device(index, &request, error);
}

const char *apply_device_spec(const struct common_options *common)
{
    const char *spec = common->device ? common->device : getenv("HONE_DEVICE");
    return spec && strcmp(spec, "auto") != 0 ? spec : NULL;
}

/* ---- Before the first image is known ---- */

/* The number of the only device; false if there are none or several. */
static bool only_device(char number[16])
{
    hone_device_info *devices = NULL;
    size_t count = 0;
    if (hone_device_list(&devices, &count, NULL))
        return false;
    if (count == 1)
        snprintf(number, 16, "%u", devices[0].index);
    hone_device_list_free(&devices);
    return count == 1;
}

static void *open_early(void *user)
{
    struct shared_device *shared = user;
    const struct common_options *common = &shared->options->common;
    const char *spec = apply_device_spec(common);
    const bool names_one = spec && strcmp(spec, "all") != 0 && !strchr(spec, ',');
    char number[16];
    if (names_one || (!spec && only_device(number)))
        cli_open_device(&shared->early.device, common, names_one ? spec : number, NULL);
    return NULL;
}

void apply_open_early(struct shared_device *shared)
{
    struct early_device *early = &shared->early;
    if (early->begun || shared->pool)
        return;
    early->begun = true;
    early->runs = pthread_create(&early->thread, NULL, open_early, shared) == 0;
}

void apply_await_early(struct shared_device *shared)
{
    if (shared->early.runs)
        pthread_join(shared->early.thread, NULL);
    shared->early.runs = false;
}

/* ---- For the first image ---- */

hone_status apply_open_device(const struct engine *engine, const hone_image_desc *input,
                              const hone_image_desc *second, hone_device **out, hone_error *error)
{
    const struct common_options *common = &engine->options->common;
    struct early_device *early = &engine->shared->early;
    const char *spec = apply_device_spec(common);
    char number[16];
    if (early->device) {
        *out = early->device;
        early->device = NULL;
        return HONE_OK;
    }
    if (!spec) {
        unsigned index;
        TRY(pick(engine, input, second, &index, error));
        snprintf(number, sizeof number, "%u", index);
        spec = number;
    }
    return cli_open_device(out, common, spec, error);
}
