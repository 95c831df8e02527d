/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/profile/traffic.h"

#include "base/error.h"
#include "base/file.h"
#include "cli/show.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void traffic_note(const struct common_options *common, const struct traffic *traffic)
{
    const struct profile_traffic *t = &traffic->sum;
    cli_note(common, "  traffic: %.2f MB over the bus, %.2f MB in device memory; launches: %zu, copies: %zu",
             (double)t->bus * 1e-6, (double)t->memory * 1e-6, t->launches, t->copies);
    for (size_t i = 0; i < traffic->kinds; i++) {
        const struct traffic_copies *c = &traffic->copies[i];
        char times[48] = "";
        if (c->count > 1)
            snprintf(times, sizeof times, " in %llu pieces", (unsigned long long)c->count);
        cli_note(common, "  %s of %s%s%s: %s", c->copy.what, show_count(c->copy.bytes, "byte").text, times,
                 c->copy.avoidable ? ", avoidable" : "", c->copy.why);
    }
}

struct json_t *traffic_json(const struct traffic *traffic)
{
    const struct profile_traffic *t = &traffic->sum;
    json_t *copies = json_array();
    for (size_t i = 0; i < traffic->kinds; i++) {
        const struct traffic_copies *c = &traffic->copies[i];
        json_array_append_new(copies, json_pack("{s:s, s:I, s:I, s:b, s:s}", "kind", c->copy.what, "count",
                                                (json_int_t)c->count, "bytes", (json_int_t)c->copy.bytes,
                                                "avoidable", c->copy.avoidable, "why", c->copy.why));
    }
    json_t *value = json_pack("{s:I, s:I, s:I, s:o}", "bus_bytes", (json_int_t)t->bus, "memory_bytes",
                              (json_int_t)t->memory, "launches", (json_int_t)t->launches, "copies", copies);
    if (!traffic->failed)
        return value;
    json_decref(value);
    return NULL;
}

hone_status trace_file_begin(struct guarded_output *output, const char *path, hone_error *error)
{
    return path ? guard_output_begin(output, path, error) : HONE_OK;
}

hone_status trace_file_end(struct guarded_output *output, const char *path, struct json_t *trace,
                           hone_error *error)
{
    char *text = trace ? json_dumps(trace, JSON_COMPACT | JSON_REAL_PRECISION(15)) : NULL;
    json_decref(trace);
    if (!text)
        return error_memory(error, "the trace");
    hone_status status = HONE_OK;
    if (!file_write_all(output->file.fd, text, strlen(text)))
        status = error_io(error, "'%s' cannot be written: %s", path, strerror(errno));
    free(text);
    return status ? status : guard_output_commit(output, false, error);
}
