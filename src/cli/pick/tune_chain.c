/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/pick/tune_chain.h"

#include "base/error.h"
#include "base/mem.h"
#include "choose/lookup.h"
#include "choose/trust.h"
#include "filter/chain.h"

#include <stdlib.h>

/* By a session: a trial on the way looks at a few configurations. A small space has no more than one. */
static bool is_tuned(const struct records *records, const struct record_device *device,
                     const struct filter_case *c)
{
    struct record_case wanted;
    record_case_of(c, &wanted);
    for (size_t i = 0; i < records->choice_count; i++) {
        const struct record_choice *choice = &records->choices[i];
        if (choice->origin == ORIGIN_SESSION && lookup_level_of(&choice->device, device) == LEVEL_EXACT &&
            lookup_distance(&choice->c, &wanted) == 0)
            return true;
    }
    return false;
}

static hone_status tune_case(const struct tune_chain_request *request, struct worker *worker,
                             const struct filter_case *c, hone_error *error)
{
    struct session_result result = {0};
    hone_status status =
        worker->started ? HONE_OK : worker_start(worker, request->spec, request->no_disk, error);
    THEN(status, filter_session_tune(worker, c, &request->options, &result, error));
    if (!status && result.interrupted)
        status = error_unsupported(error, "interrupted while %s was tuned", c->filter->name);
    THEN(status, trust_learn(request->device, &result.choice, error));
    if (!status && request->tuned)
        request->tuned(request->options.context, &result);
    session_result_finish(&result);
    return status;
}

static hone_status tune_cases(const struct tune_chain_request *request, const struct filter_case *cases,
                              size_t count, hone_error *error)
{
    struct records records = {0};
    const struct records *known;
    struct record_device device;
    struct worker worker = {0};
    record_device_of(request->device, &device);
    hone_status status = request->no_disk ? HONE_OK : records_load(&records, READ_CHOICES, error);
    if (!status) /* another process may have added to the file, and this one to what it knows alone */
        status = trust_records(request->device, &known, error);
    for (size_t i = 0; i < count && !status; i++)
        if (!is_tuned(&records, &device, &cases[i]) && !is_tuned(known, &device, &cases[i]))
            status = tune_case(request, &worker, &cases[i], error);
    if (worker.started)
        worker_stop(&worker);
    records_finish(&records);
    return status;
}

hone_status tune_chain(const struct tune_chain_request *request, hone_error *error)
{
    const size_t count = request->chain->count;
    struct filter_case *cases = mem_new(count, sizeof *cases);
    if (!cases)
        return error_memory(error, "a chain");
    hone_status status =
        chain_cases(cases, request->chain, request->input, request->second, request->second_count, error);
    if (!status) {
        status = tune_cases(request, cases, count, error);
        chain_cases_finish(cases, count);
    }
    free(cases);
    return status;
}
