/* SPDX-License-Identifier: BSD-2-Clause */
/* What `hone tune` says. */
#include "cli/tune/tune.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/show.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

void tune_describe_left(struct budget_view *view, uint64_t start, double done, double to_do, char *to,
                        size_t size)
{
    double left = budget_left(view, (double)(clock_ns() - start) * 1e-9, done, to_do);
    const char *how = view->total > 0 ? "at most" : "about";
    if (left < 120)
        snprintf(to, size, "%s %.0f s left", how, left);
    else
        snprintf(to, size, "%s %.0f min left", how, left / 60);
}

void tune_show_line(const struct common_options *common, bool on_terminal, const char *line)
{
    struct winsize size = {0};
    if (!on_terminal || common->verbose || common->quiet)
        return;
    int columns = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col - 1 : 79;
    fprintf(stderr, "\r\033[K%.*s", columns, line);
}

/* "gaussian sigma=2, u8 x3", short. */
static void add_case(const char *line, struct text *out)
{
    enum { SHORT = 32 };
    int type = 0, channels = 0;
    int length = (int)strcspn(line, "\t");
    sscanf(line + length, "\t%d\t%d", &type, &channels);
    length -= length > 0 && line[length - 1] == ' '; /* without parameters */
    text_add(out, "%.*s%s, %s x%d", length < SHORT ? length : SHORT, line, length < SHORT ? "" : "...",
             hone_type_name((hone_type)type), channels);
}

/* "3 of 36, gaussian sigma=2, u8 x3: final, round 2 of 12, at most 5 min left" */
static void show_case(struct tune_run *run, const char *what, const char *behind)
{
    struct text line = {0};
    char left[48];
    run->left.total = run->seconds;
    tune_describe_left(&run->left, run->start, run->evaluated,
                       (double)run->evaluations * (run->count - run->done) - run->here, left, sizeof left);
    text_add(&line, "%d of %d, ", run->done + 1, run->count);
    add_case(run->cases[run->done], &line);
    text_add(&line, ": %s, %s%s", what, left, behind);
    tune_show_line(&run->common, run->on_terminal, text_view(&line));
    text_finish(&line);
}

void tune_show_stage(void *context, const char *text)
{
    show_case(context, text, "");
}

void tune_show_progress(void *context, int evaluation, int of, const char *configuration,
                        const struct measured *measured, double best_ms)
{
    struct tune_run *run = context;
    char what[48], best[32], behind[128];
    run->evaluated++;
    run->here = evaluation;
    cli_best(best, best_ms);
    snprintf(what, sizeof what, "%d of at most %d", evaluation, of);
    snprintf(behind, sizeof behind, "%s  %.80s", best, configuration);
    show_case(run, what, behind);
    tune_note_evaluation(&run->common, configuration, measured);
}

void tune_show_waiting(void *context)
{
    const struct tune_run *run = context;
    cli_say_waiting(&run->common);
}

void tune_note_evaluation(const struct common_options *common, const char *configuration,
                          const struct measured *measured)
{
    struct text figures = {0};
    tune_add_figures(&measured->figures, &figures);
    cli_note(common, "  %s: %s%s %.4g ms%s%s%s", configuration, record_state_name(measured->state),
             measured->ms >= 0 ? "," : "", measured->ms >= 0 ? measured->ms : 0,
             measured->note[0] ? ": " : "", measured->note, text_view(&figures));
    text_finish(&figures);
}

void tune_clear_line(const struct common_options *common, bool on_terminal)
{
    if (on_terminal && !common->verbose && !common->quiet)
        fputs("\r\033[K", stderr);
}

static void print_gain(const char *over, double ms, double best)
{
    if (ms > 0 && best > 0)
        printf("  %8.3gx  %s (%.4g ms)\n", ms / best, over, ms);
}

void tune_print_failures(const int *states)
{
    static const struct {
        enum record_state state;
        const char *words;
    } bad[] = {{STATE_COMPILE, "did not build"},
               {STATE_RUN, "failed"},
               {STATE_TIMEOUT, "hung"},
               {STATE_CRASH, "crashed"},
               {STATE_WRONG, "were wrong"}};
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        if (states[bad[i].state])
            printf("; %d %s", states[bad[i].state], bad[i].words);
}

static void print_clock(const char *clock, const char *reason)
{
    if (strcmp(clock, "host") == 0)
        printf("  clock      host's clock: %s\n", reason);
    else if (strcmp(clock, "processor") == 0)
        printf("  clock      processor time: %s\n", reason);
}

void tune_print_sureness(const struct session_result *r)
{
    const struct record_choice *choice = &r->choice;
    printf("  how sure   ");
    if (choice->raced && r->tied < 0)
        printf("spread %.1f %%", r->spread * 100);
    else if (choice->raced)
        printf(
            "spread %.1f %%, %d other%s cannot be told from it (less than %.1f %% slower than the fastest)",
            r->spread * 100, r->tied, r->tied == 1 ? "" : "s", r->margin * 100);
    else
        printf("no final took place: these are times of the search");
    if (choice->load > 0.1)
        printf("; other work took %.0f %% of the processors meanwhile", choice->load * 100);
    printf("%s\n", r->interrupted ? "; interrupted: run again to resume" : "");
    print_clock(choice->clock, r->clock_reason);
    if (fabs(choice->drift) > 0.05)
        printf(
            "  unsteady   the last runs of the final took %.0f %% %s than the first: clocks or other work\n",
            fabs(choice->drift) * 100, choice->drift > 0 ? "more" : "less");
}

void tune_add_outcome(json_t *report, const struct session_result *r, uint32_t random_seed)
{
    const struct record_choice *choice = &r->choice;
    json_object_set_new(report, "resumed", json_integer(r->resumed));
    json_object_set_new(report, "tied", r->tied < 0 ? json_null() : json_integer(r->tied));
    json_object_set_new(report, "space", json_integer((json_int_t)r->space));
    json_object_set_new(report, "interrupted", json_boolean(r->interrupted));
    json_object_set_new(report, "seed", json_integer(random_seed));
    json_object_set_new(report, "clock", json_string(choice->clock));
    json_object_set_new(report, "clock_reason", json_string(r->clock_reason));
    json_object_set_new(report, "final", json_boolean(choice->raced));
    json_object_set_new(report, "spread", cli_json_real(choice->raced ? r->spread : NAN));
    json_object_set_new(report, "margin", cli_json_real(choice->raced && r->tied >= 0 ? r->margin : NAN));
    json_object_set_new(report, "drift", cli_json_real(choice->raced ? choice->drift : NAN));
}

/* What came of the variants that were asked for. */
static void print_experiment(const struct session_result *r, const char *variants)
{
    const struct record_config *best = &r->choice.ranked[0], *asked = &r->asked;
    if (!variants)
        return;
    if (asked->variant[0] && (strcmp(asked->variant, best->variant) || strcmp(asked->config, best->config)))
        printf("  %8.3gx  the best of --variant %s: %s %s (%.4g ms)\n", asked->ms / best->ms, variants,
               asked->variant, asked->config, asked->ms);
    if (r->choice.informs)
        printf("  unchanged  none of --variant %s is faster than what runs anyway, which stays\n", variants);
}

const char tune_unchecked[] =
    "results at this size were compared with nothing, those on a small picture were right: plain C takes too "
    "long here, or too much memory (HONE_TUNE_REFERENCE=SECONDS gives it more time), and no variant could "
    "take its place";

void tune_print_result(const struct session_result *r, const struct session_options *options)
{
    const struct record_choice *choice = &r->choice;
    const struct record_config *best = &choice->ranked[0];
    double pixels = (double)choice->c.width * choice->c.height;
    struct text what = {0};
    show_tuned(&choice->c, &what);
    printf("%s on %s\n", text_view(&what), choice->device.name);
    text_finish(&what);
    printf("  best       %s %s: %.4g ms, %.4g GP/s\n", best->variant, best->config, best->ms,
           best->ms > 0 ? pixels / best->ms * 1e-6 : 0);
    print_gain("the choice without tuning", choice->default_ms, best->ms);
    print_gain("the first rung", choice->first_rung_ms, best->ms);
    print_gain(r->plain, choice->plain_ms, best->ms);
    tune_print_metrics(r, options->metrics);
    if (r->tied >= 0)
        print_experiment(r, options->variants);
    printf("  how        %s%s in %.1f s, %d of them from before; space of %lld",
           show_count((size_t)choice->evaluations, "evaluation").text, r->exhausted ? " (all there are)" : "",
           choice->seconds, r->resumed, (long long)r->space);
    tune_print_failures(r->states);
    printf("\n");
    tune_print_sureness(r);
    if (!r->compared_with[0] && !r->interrupted)
        printf("  unchecked  %s\n", tune_unchecked);
    tune_print_tries(r, options);
}

void tune_add_report(struct tune_run *run, const struct session_result *r)
{
    struct text line = {0};
    record_choice_print(&r->choice, &line);
    json_t *object = json_loads(text_view(&line), 0, NULL);
    text_finish(&line);
    json_t *states = json_object();
    for (int i = 0; i < STATE_COUNT; i++)
        if (r->states[i])
            json_object_set_new(states, record_state_name((enum record_state)i), json_integer(r->states[i]));
    json_object_set_new(object, "states", states);
    tune_add_outcome(object, r, run->random_seed);
    json_object_set_new(object, "compared_with", json_string(r->compared_with));
    if (r->asked.variant[0])
        json_object_set_new(object, "asked",
                            json_pack("{s:s, s:s, s:f}", "variant", r->asked.variant, "config",
                                      r->asked.config, "ms", r->asked.ms));
    json_object_set_new(object, "tries", tune_tries_json(r, &run->wishes.metrics));
    json_object_set_new(object, "metrics", tune_metrics_json(r->ranked[0].metrics, &run->wishes.metrics));
    json_object_set_new(object, "missing", json_incref(r->missing));
    json_object_set_new(object, "plain", json_string(r->plain));
    json_object_set_new(object, "upload_ms", cli_json_real(r->upload_ms));
    json_object_set_new(object, "download_ms", cli_json_real(r->download_ms));
    json_array_append_new(run->report, object);
}
