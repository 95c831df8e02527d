/* SPDX-License-Identifier: BSD-2-Clause */
/* hone apply --tune full: the filters of the chain are tuned before the first image that needs it. */
#include "cli/apply/apply.h"

#include "cli/guard.h"
#include "cli/pick/tune_chain.h"
#include "cli/show.h"
#include "cli/tune/tune.h"

#include <stdio.h>
#include <unistd.h>

enum { EVALUATIONS = 100 };

static bool shows_progress(const struct common_options *common)
{
    return cli_on_terminal() && !common->quiet && !common->verbose;
}

static void show_evaluation(void *context, int evaluation, int of, const char *configuration,
                            const struct measured *measured, double best_ms)
{
    char best[32], line[160];
    (void)measured;
    cli_best(best, best_ms);
    snprintf(line, sizeof line, "tuning: %d of at most %d%s  %.60s", evaluation, of, best, configuration);
    apply_fit_line(line, apply_columns(STDERR_FILENO));
    if (shows_progress(context))
        fprintf(stderr, "\r\033[K%s", line);
}

static void show_waiting(void *context)
{
    cli_say_waiting(context);
}

static void show_result(void *context, const struct session_result *result)
{
    const struct record_choice *choice = &result->choice;
    const struct record_config *best = &choice->ranked[0];
    if (shows_progress(context))
        fputs("\r\033[K", stderr);
    if (choice->count > 0)
        cli_note(context, "tuned %s for %ux%u %s x%u: %s %s, %.4g ms, after %s in %.1f s", choice->c.filter,
                 choice->c.width, choice->c.height, hone_type_name(choice->c.type), choice->c.channels,
                 best->variant, best->config, best->ms,
                 show_count((size_t)choice->evaluations, "evaluation").text, choice->seconds);
    if (choice->count > 0 && !result->compared_with[0] && !result->interrupted)
        cli_note(context, "%s", tune_unchecked);
}

hone_status apply_tune(const struct engine *engine, hone_device *device, const hone_image_desc *input,
                       const hone_image_desc *second, hone_error *error)
{
    char spec[16];
    struct common_options *common = (struct common_options *)&engine->options->common;
    snprintf(spec, sizeof spec, "%u", hone_device_get_info(device)->index);
    const struct tune_chain_request request = {.device = device,
                                               .spec = spec,
                                               .no_disk = common->no_cache,
                                               .chain = engine->chain,
                                               .input = input,
                                               .second = second,
                                               .second_count = engine->second_count,
                                               .options = {.budget = EVALUATIONS,
                                                           .random_seed = 1,
                                                           .interrupted = guard_is_signalled,
                                                           .give_up = guard_is_signalled,
                                                           .waiting = show_waiting,
                                                           .progress = show_evaluation,
                                                           .context = common},
                                               .tuned = show_result};
    guard_hold(); /* the configuration under way is called off first: it would count as crashed */
    hone_status status = tune_chain(&request, error);
    guard_release();
    return status;
}
