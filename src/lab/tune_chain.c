/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/tune_chain.h"

#include "base/error.h"
#include "base/mem.h"
#include "plan/chain.h"
#include "tune/lookup.h"

#include <stdlib.h>

/* A plan that tries some configurations on the way looks at fewer. */
enum { ENOUGH_EVALUATIONS = 8 };

static bool is_tuned(const struct records *records, const struct record_device *device,
                     const struct filter_case *c)
{
    struct record_case wanted;
    record_case_of(c, &wanted);
    const struct record_choice *choice = lookup_choice(records, device, &wanted, LEVEL_EXACT);
    return choice && choice->evaluations >= ENOUGH_EVALUATIONS && lookup_distance(&choice->c, &wanted) == 0;
}

static hone_status tune_case(const struct tune_chain_request *request, struct worker *worker,
                             const struct filter_case *c, hone_error *error)
{
    struct session_result result = {0};
    hone_status status = worker->started ? HONE_OK : worker_start(worker, request->spec, false, error);
    if (!status)
        status = session_tune(worker, c, &request->options, &result, error);
    if (!status && result.interrupted)
        return error_set(error, HONE_ERROR_UNSUPPORTED, "interrupted while %s was tuned", c->filter->name);
    if (!status && request->tuned)
        request->tuned(request->options.context, &result);
    return status;
}

static hone_status tune_cases(const struct tune_chain_request *request, const struct filter_case *cases,
                              size_t count, hone_error *error)
{
    struct records records = {0};
    struct record_device device;
    struct worker worker = {0};
    record_device_of(request->device, &device);
    hone_status status = records_load(&records, READ_CHOICES, error);
    for (size_t i = 0; i < count && !status; i++)
        if (!is_tuned(&records, &device, &cases[i]))
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
