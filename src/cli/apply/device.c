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

hone_status apply_open_device(const struct engine *engine, const hone_image_desc *input,
                              const hone_image_desc *second, hone_device **out, hone_error *error)
{
    const struct common_options *common = &engine->options->common;
    const char *spec = common->device ? common->device : getenv("HONE_DEVICE");
    char number[16];
    if (!spec || strcmp(spec, "auto") == 0) {
        unsigned index;
        TRY(pick(engine, input, second, &index, error));
        snprintf(number, sizeof number, "%u", index);
        spec = number;
    }
    return cli_open_device(out, common, spec, error);
}
