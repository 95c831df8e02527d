/* SPDX-License-Identifier: BSD-2-Clause */
/* What a run reads, so that nothing it writes replaces it. */
#include "cli/cli.h"

#include "base/error.h"
#include "base/file.h"
#include "choose/records.h"
#include "hone/filter.h"

#include <limits.h>
#include <string.h>

/* Of one filter, like cli_chain_file; `index` becomes what is left of it. */
static const char *file_of_step(const hone_chain *chain, size_t step, size_t *index)
{
    const char *filter = hone_chain_filter(chain, step), *value;
    hone_filter_info info;
    hone_parameter_info parameter;
    if (hone_filter_find(filter, &info) && info.loaded && (*index)-- == 0)
        return info.origin;
    for (size_t i = 0; hone_filter_parameter(filter, i, &parameter); i++)
        if ((strcmp(parameter.kind, "image") == 0 || strcmp(parameter.kind, "text") == 0) &&
            (value = hone_chain_parameter(chain, step, parameter.name)) && (*index)-- == 0)
            return value;
    return NULL;
}

const char *cli_chain_file(const hone_chain *chain, size_t index)
{
    const char *file = NULL;
    for (size_t i = 0; i < hone_chain_length(chain) && !file; i++)
        file = file_of_step(chain, i, &index);
    return file;
}

hone_status cli_spare_chain(const char *option, const char *output, const hone_chain *chain,
                            hone_error *error)
{
    const char *file;
    for (size_t i = 0; (file = cli_chain_file(chain, i)); i++)
        TRY(file_output_spares(option, output, file, error));
    return HONE_OK;
}

hone_status cli_spare_operands(const char *option, const char *output, const struct operands *operands,
                               hone_error *error)
{
    hone_status status = HONE_OK;
    for (int i = 0; i < operands->count && !status; i++) {
        hone_chain *chain = NULL;
        if (hone_chain_parse(&chain, operands->items[i], NULL) == HONE_OK)
            status = cli_spare_chain(option, output, chain, error);
        hone_chain_destroy(&chain);
    }
    return status;
}

hone_status cli_spare_records(const char *option, const char *output, hone_error *error)
{
    char path[PATH_MAX];
    return records_path(path, NULL) ? HONE_OK : file_output_spares(option, output, path, error);
}
