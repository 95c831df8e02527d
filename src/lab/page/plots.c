/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/page/plots.h"

#include "lab/page/gnuplot.h"

static const struct climbed *result_of(const struct page_subject *s, int image, int step)
{
    const struct climbed *r = &s->results[(size_t)image * s->stride + (size_t)step];
    return r->row.ran && r->row.times.ms > 0 ? r : NULL;
}

int page_size_there(const struct page_subject *s)
{
    return s->ladder->is_table ? seeds_size(&s->ladder->table, s->images[0].width, s->images[0].height) : -1;
}

/* ---- Gains as bars, the document's beside ---- */

bool plot_bars(const struct page_subject *s, struct text *script)
{
    bool there = false, any = false;
    text_add(script, "$bars << END\n");
    for (int i = 0; i < s->ladder->count; i++) {
        const struct climbed *r = result_of(s, 0, i);
        struct seed_figure figure = {0};
        const bool given = s->ladder->steps[i].seeded &&
                           seed_figure(&s->ladder->steps[i].seed, "gain", page_size_there(s), &figure);
        gnuplot_add_string(script, s->ladder->steps[i].name);
        text_add(script, " ");
        text_add_number(script, r ? r->gain : 0);
        text_add(script, " ");
        text_add_number(script, given ? figure.most : 0);
        text_add(script, "\n");
        there |= given;
        any |= r != NULL;
    }
    text_add(
        script,
        "END\nset style data histograms\nset style fill solid 0.85\nset boxwidth 0.9\nset yrange [0:*]\n"
        "set grid ytics\nset ylabel 'gain over the first row'\nset xtics rotate by -30\nset key top left\n"
        "plot $bars using 2:xtic(1) title 'here' linecolor rgb '" PLOT_HERE "'%s\n",
        there ? ", '' using 3 title 'the document' linecolor rgb '" PLOT_THERE "'" : "");
    return any;
}

/* ---- Roofline ---- */

bool plot_roofline(const struct page_subject *s, struct text *script)
{
    const double memory = s->roofs->values[ROOF_COPY_BUFFER] * 1e-9,
                 work = s->roofs->values[s->images[0].type == HONE_F32 ? ROOF_FLOAT : ROOF_INT] * 1e-9;
    const double pixels = (double)s->images[0].width * s->images[0].height;
    bool any = false;
    if (memory <= 0 || work <= 0)
        return false;
    text_add(script, "$points << END\n");
    for (int i = 0; i < s->ladder->count; i++) {
        const struct climbed *r = result_of(s, 0, i);
        if (!r || !(r->row.cost.operations > 0) || !(r->row.cost.bytes > 0))
            continue;
        text_add_number(script, r->row.cost.operations / r->row.cost.bytes);
        text_add(script, " ");
        text_add_number(script, r->row.cost.operations * pixels / r->row.times.ms * 1e-6);
        text_add(script, " ");
        gnuplot_add_string(script, s->ladder->steps[i].name);
        text_add(script, "\n");
        any = true;
    }
    text_add(script,
             "END\nset logscale xy\nset grid\nset key bottom right\nset offsets graph 0.1, graph 0.2, "
             "graph 0, graph 0.05\n"
             "set xlabel 'operations for a byte of memory, by the variant''s model'\nset ylabel "
             "'Gop/s'\nmemory = ");
    text_add_number(script, memory);
    text_add(script, "\nwork = ");
    text_add_number(script, work);
    text_add(script,
             "\nset samples 300\nstats $points using 1 nooutput\n"
             "set xrange [(STATS_min < work / memory ? STATS_min : work / memory) / 3 : "
             "(STATS_max > work / memory ? STATS_max : work / memory) * 3]\n"
             "stats $points using 2 nooutput\nset yrange [*:2 * (STATS_max > work ? STATS_max : work)]\n"
             "plot (memory * x < work ? memory * x : work) title 'roofs of this device' linewidth 2 "
             "linecolor rgb '" PLOT_GREY
             "', $points using 1:2 notitle with points pointtype 7 pointsize 0.8 linecolor rgb "
             "'" PLOT_HERE
             "', $points using 1:2:3 notitle with labels offset character 0.8,0 left font ',11'\n");
    return any;
}

/* ---- Sizes ---- */

/* The images of the first one's format. */
static bool is_alike(const struct page_subject *s, int image)
{
    return s->images[image].type == s->images[0].type && s->images[image].channels == s->images[0].channels;
}

static void add_curve(const struct page_subject *s, int step, struct text *script)
{
    text_add(script, "$curve%d << END\n", step);
    for (int i = 0; i < s->image_count; i++) {
        const struct climbed *r = result_of(s, i, step);
        const double pixels = (double)s->images[i].width * s->images[i].height * 1e-6;
        if (!r || !is_alike(s, i))
            continue;
        text_add_number(script, pixels);
        text_add(script, " ");
        text_add_number(script, pixels / r->row.times.ms * 1e3);
        text_add(script, "\n");
    }
    text_add(script, "END\n");
}

bool plot_sizes(const struct page_subject *s, struct text *script)
{
    bool any = false;
    for (int step = 0; step < s->ladder->count; step++)
        add_curve(s, step, script);
    text_add(script, "set logscale xy\nset grid\nset key outside bottom center horizontal\nset xlabel "
                     "'megapixels'\nset ylabel "
                     "'MP/s'\nplot ");
    for (int step = 0; step < s->ladder->count; step++) {
        if (!result_of(s, 0, step))
            continue;
        text_add(script,
                 "%s$curve%d using 1:2 smooth unique with linespoints pointtype 7 pointsize 0.5 title ",
                 any ? ", " : "", step);
        gnuplot_add_string(script, s->ladder->steps[step].name);
        any = true;
    }
    text_add(script, "\n");
    return any;
}
