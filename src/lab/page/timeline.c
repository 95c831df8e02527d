/* SPDX-License-Identifier: BSD-2-Clause */
/* A run of the chain, command by command. */
#include "base/error.h"
#include "image/pattern.h"
#include "lab/page/gnuplot.h"
#include "lab/page/plots.h"
#include "lab/profile/profile.h"

enum { WARMUP = 3, REPEAT = 5 };

struct run {
    hone_chain *chain;
    hone_plan *plan;
    hone_image *in, *out;
    struct view from, to;
};

static hone_status open_run(struct run *run, const struct page_subject *s)
{
    const hone_image_desc *desc = &s->images[0];
    hone_status status = hone_chain_parse(&run->chain, s->ladder->chain, NULL);
    THEN(status, hone_plan_create(&run->plan, s->device, run->chain, desc, NULL, NULL));
    if (status)
        return status;
    run->from = view_new(desc);
    run->to = view_new(hone_plan_output(run->plan));
    if (!run->from.data || !run->to.data)
        return HONE_ERROR_MEMORY;
    pattern_fill(&run->from, PATTERN_STEPS, 3);
    status = hone_image_wrap(&run->in, s->device, desc, run->from.data, NULL);
    return status ? status : hone_image_wrap(&run->out, s->device, &run->to.desc, run->to.data, NULL);
}

static void close_run(struct run *run)
{
    hone_plan_destroy(&run->plan);
    hone_image_destroy(&run->in);
    hone_image_destroy(&run->out);
    hone_chain_destroy(&run->chain);
    view_finish(&run->from);
    view_finish(&run->to);
}

/* A command is waiting from its queuing to its start, and then runs. The first is at the top. */
static void print_commands(const struct profile *p, struct text *script)
{
    const uint64_t begun = p->rows[0].typical.c.times.queued;
    text_add(script, "$commands << END\n");
    for (size_t i = 0; i < p->row_count; i++) {
        const hone_times *t = &p->rows[i].typical.c.times;
        text_add(script, "%zu %.3f %.3f %.3f ", p->row_count - i, (double)(int64_t)(t->queued - begun) * 1e-3,
                 (double)(int64_t)(t->started - begun) * 1e-3, (double)(int64_t)(t->ended - begun) * 1e-3);
        const hone_command *c = &p->rows[i].typical.c;
        gnuplot_add_string(script,
                           c->kind == HONE_COMMAND_KERNEL ? c->name : hone_command_kind_name(c->kind));
        text_add(script, "\n");
    }
    text_add(
        script,
        "END\nset yrange [0.4:%zu.6]\nset xrange [0:*]\nset xlabel 'microseconds'\nset grid xtics\n"
        "set key outside bottom center horizontal\nset style fill solid 0.85 noborder\n"
        "plot $commands using 2:1:2:3:($1-0.12):($1+0.12):ytic(5) with boxxyerror linecolor rgb '" PLOT_GREY
        "' title 'queued', $commands using 3:1:3:4:($1-0.35):($1+0.35) with boxxyerror linecolor rgb "
        "'" PLOT_HERE "' title 'runs'\n",
        p->row_count);
}

bool plot_timeline(const struct page_subject *s, struct text *script, struct text *about)
{
    struct run run = {0};
    struct profile profile;
    hone_step_info step;
    const struct profile_options options = {.warmup = WARMUP, .repeat = REPEAT};
    bool measured =
        s->ladder->filter->inputs < 2 && open_run(&run, s) == HONE_OK &&
        profile_measure(&profile, s->device, run.plan, run.in, run.out, &options, NULL) == HONE_OK;
    if (measured && hone_plan_step(run.plan, 0, &step))
        text_add(about,
                 "A run of '%s' from the host's memory and back to it, by '%s' %s: %.4g ms, typical of %d.",
                 s->ladder->chain, step.variant, step.config, profile.median * 1e3, REPEAT);
    if (measured) {
        const bool any = profile.row_count > 0;
        if (any)
            print_commands(&profile, script);
        profile_finish(&profile);
        measured = any;
    }
    close_run(&run);
    if (!measured)
        text_add(
            about,
            "this chain cannot be run by itself: it takes a second picture, or the device gives no times");
    return measured;
}
