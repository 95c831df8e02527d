/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/profile/traffic.h"

#include "base/error.h"
#include "base/file.h"
#include "cli/guard.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static struct profile_traffic add_up(const hone_command *commands, size_t count)
{
    struct profile_traffic traffic = {0};
    for (size_t i = 0; i < count; i++)
        profile_add_traffic(&traffic, &commands[i]);
    return traffic;
}

void traffic_note(const struct common_options *common, const struct copy_situation *situation,
                  const hone_command *commands, size_t count)
{
    const struct profile_traffic t = add_up(commands, count);
    struct profile_copy copy;
    cli_note(common, "  traffic: %.2f MB over the bus, %.2f MB in device memory; launches: %zu, copies: %zu",
             (double)t.bus * 1e-6, (double)t.memory * 1e-6, t.launches, t.copies);
    for (size_t i = 0; i < count; i++)
        if (profile_explain_copy(situation, &commands[i], &copy))
            cli_note(common, "  %s of %llu bytes%s: %s", copy.what, (unsigned long long)copy.bytes,
                     copy.avoidable ? ", avoidable" : "", copy.why);
}

struct json_t *traffic_json(const struct copy_situation *situation, const hone_command *commands,
                            size_t count)
{
    const struct profile_traffic t = add_up(commands, count);
    struct profile_copy copy;
    json_t *copies = json_array();
    for (size_t i = 0; i < count; i++)
        if (profile_explain_copy(situation, &commands[i], &copy))
            json_array_append_new(copies, json_pack("{s:s, s:I, s:b, s:s}", "kind", copy.what, "bytes",
                                                    (json_int_t)copy.bytes, "avoidable", copy.avoidable,
                                                    "why", copy.why));
    return json_pack("{s:I, s:I, s:i, s:o}", "bus_bytes", (json_int_t)t.bus, "memory_bytes",
                     (json_int_t)t.memory, "launches", (int)t.launches, "copies", copies);
}

hone_status profile_write_trace(const char *path, struct json_t *trace, hone_error *error)
{
    struct guarded_output output = GUARDED_OUTPUT_NONE;
    char *text = trace ? json_dumps(trace, JSON_COMPACT | JSON_REAL_PRECISION(15)) : NULL;
    json_decref(trace);
    if (!text)
        return error_memory(error, "the trace");
    hone_status status = guard_output_begin(&output, path, error);
    if (!status && !file_write_all(output.file.fd, text, strlen(text)))
        status = error_set(error, HONE_ERROR_IO, "'%s' cannot be written: %s", path, strerror(errno));
    if (!status)
        status = guard_output_commit(&output, error);
    guard_output_abort(&output);
    free(text);
    return status;
}
