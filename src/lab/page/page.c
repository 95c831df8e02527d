/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/page/page.h"

#include "base/error.h"
#include "hone/version.h"
#include "lab/page/gnuplot.h"
#include "lab/page/plots.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* Text between tags. What XML has no room for is left out, bytes beyond ASCII that are no UTF-8 of a driver's
 * among it. */
static void add_escaped(struct text *page, const char *text)
{
    for (; *text; text++)
        if (*text == '&')
            text_add(page, "&amp;");
        else if (*text == '<')
            text_add(page, "&lt;");
        else if (*text == '>')
            text_add(page, "&gt;");
        else if (*text == '"')
            text_add(page, "&quot;");
        else if ((*text >= ' ' && *text <= '~') || *text == '\n')
            text_add_bytes(page, text, 1);
        else
            text_add(page, "?");
}

static void add_element(struct text *page, const char *element, const char *text)
{
    text_add(page, "<%s>", element);
    add_escaped(page, text);
    text_add(page, "</%s>\n", element);
}

/* ---- The head ---- */

static const char head[] =
    "<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head>\n<meta "
    "charset=\"utf-8\"/>\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
    "<meta name=\"color-scheme\" content=\"light dark\"/>\n<title>hone bench</title>\n<style>\n"
    ":root { --ink: #1b1b1b; --paper: #ffffff; --line: #d5d5d5; --soft: #f4f4f4; }\n"
    "@media (prefers-color-scheme: dark) { :root { --ink: #e6e6e6; --paper: #161616; --line: #444444; "
    "--soft: #232323; } }\n"
    "@media print { :root { --ink: #000000; --paper: #ffffff; --line: #999999; --soft: #ffffff; }\n"
    "  figure, table { break-inside: avoid; } }\n"
    "body { margin: 0 auto; max-width: 60rem; padding: 1rem; font: 1rem/1.45 sans-serif; color: var(--ink); "
    "background: "
    "var(--paper); }\n"
    "h1, h2, h3 { line-height: 1.2; } h2 { border-top: 1px solid var(--line); padding-top: 1rem; }\n"
    "figure { margin: 1rem 0; } figcaption { font-size: 0.9rem; }\n"
    "svg { display: block; width: 100%; max-width: 44rem; height: auto; }\n"
    "svg [fill='black'] { fill: var(--ink); } svg [stroke='black'] { stroke: var(--ink); }\n"
    "svg [color='black'] { color: var(--ink); } svg [stroke='gray'] { stroke: var(--line); }\n"
    ".scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: 0.9rem; }\n"
    "th, td { padding: 0.2rem 0.6rem; text-align: right; }\n"
    "th, td.text { border-bottom: 1px solid var(--line); }\n"
    "th:first-child, td:first-child { text-align: left; }\n"
    "@media (max-width: 40rem) { th, td { padding: 0.15rem 0.25rem; font-size: 0.75rem; } }\n"
    "pre { background: var(--soft); padding: 0.6rem; white-space: pre-wrap; overflow-wrap: anywhere; }\n"
    "</style>\n</head>\n<body>\n";

/* The name of the processor, as the system has it. */
static void add_processor(struct text *page)
{
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && fgets(line, sizeof line, file)) {
        const char *colon = strchr(line, ':');
        if (!text_starts(line, "model name") || !colon)
            continue;
        line[strcspn(line, "\n")] = '\0';
        text_add(page, ", ");
        add_escaped(page, colon + 2);
        break;
    }
    if (file)
        fclose(file);
    text_add(page, ", %ld processors", sysconf(_SC_NPROCESSORS_ONLN));
}

void page_begin(struct text *page, const char *command)
{
    struct utsname system;
    char date[64] = "";
    const time_t now = time(NULL);
    struct tm parts;
    if (gmtime_r(&now, &parts))
        strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", &parts);
    text_add(page, "%s<h1>hone bench</h1>\n<p>", head);
    if (uname(&system) == 0) {
        add_escaped(page, system.sysname);
        text_add(page, " ");
        add_escaped(page, system.release);
        text_add(page, " on ");
        add_escaped(page, system.machine);
    }
    add_processor(page);
    text_add(page, ". hone " HONE_VERSION ", %s.</p>\n<h2>To reproduce</h2>\n", date);
    add_element(page, "pre", command);
    text_add(
        page,
        "<p>Times depend on what else the device does. <code>hone tune</code> measures what the heat maps "
        "show; <code>--anew</code> measures the roofs again.</p>\n");
}

void page_end(struct text *page)
{
    text_add(page, "</body>\n</html>\n");
}

/* ---- Tables ---- */

static void add_cell(struct text *page, double number)
{
    text_add(page, "<td>");
    if (number > 0)
        text_add(page, "%.4g", number);
    text_add(page, "</td>");
}

static void add_row(struct text *page, const struct page_subject *s, int step)
{
    const struct climbed *r = &s->results[step];
    const struct ladder_step *of = &s->ladder->steps[step];
    const double pixels = (double)s->images[0].width * s->images[0].height;
    struct seed_figure figure = {0};
    text_add(page, "<tr><td>");
    add_escaped(page, of->name);
    text_add(page, "</td>");
    if (of->seeded && seed_figure(&of->seed, "gain", page_size_there(s), &figure) && !r->row.ran)
        text_add(page, "<td></td><td></td><td></td>");
    else if (r->row.ran) {
        add_cell(page, r->row.times.ms);
        add_cell(page, pixels / r->row.times.ms * 1e-3);
        add_cell(page, r->gain);
    } else
        text_add(page, "<td></td><td></td><td></td>");
    add_cell(page, figure.most);
    text_add(page, "<td>%s</td><td>%s</td></tr>\n<tr><td class=\"text\" colspan=\"7\">",
             r->row.ran ? limiter_name(r->limit.limiter) : "",
             r->row.verdict == ROW_RIGHT   ? "right"
             : r->row.verdict == ROW_WRONG ? "WRONG"
                                           : "");
    add_escaped(page, of->title);
    if (r->row.note[0]) {
        text_add(page, "; ");
        add_escaped(page, r->row.note);
    }
    text_add(page, "</td></tr>\n");
}

static void add_rows(struct text *page, const struct page_subject *s)
{
    text_add(
        page,
        "<div class=\"scroll\"><table>\n<tr><th>step</th><th>ms</th><th>MP/s</th><th>gain</th><th>there</th>"
        "<th>limiter</th><th>result</th></tr>\n");
    for (int i = 0; i < s->ladder->count; i++)
        add_row(page, s, i);
    text_add(page, "</table></div>\n");
}

static void add_roofs(struct text *page, const struct page_subject *s)
{
    text_add(page, "<h3>What the device can do at most</h3>\n<table>\n");
    for (int i = 0; i < ROOF_COUNT; i++) {
        const double value = s->roofs->values[i];
        const bool seconds = strcmp(roof_unit(i), "s") == 0;
        text_add(page, "<tr><td>%s</td><td>", roof_name(i));
        if (value > 0)
            text_add(page, "%.4g %s%s", seconds ? value * 1e6 : value * 1e-9, seconds ? "u" : "G",
                     roof_unit(i));
        else
            text_add(page, "not available here");
        text_add(page, "</td></tr>\n");
    }
    text_add(page, "</table>\n");
}

/* ---- Plots ---- */

struct plotting {
    struct text *page;
    int number;
    hone_error *error;
};

/* A figure of what `script` draws; without `found` the sentence `about` alone. */
static hone_status add_figure(const struct plotting *p, const char *kind, const char *title, bool found,
                              struct text *script, const char *about)
{
    char name[32];
    hone_status status = HONE_OK;
    snprintf(name, sizeof name, "%s%d", kind, p->number);
    text_add(p->page, "<figure id=\"plot-%s\">\n<h3>%s</h3>\n", name, title);
    if (found)
        status = gnuplot_svg(text_view(script), name, p->page, p->error);
    add_element(p->page, "figcaption", about);
    text_add(p->page, "</figure>\n");
    return status;
}

static hone_status add_ladder(const struct plotting *p, const struct page_subject *s)
{
    struct text script = {0};
    bool found = plot_bars(s, &script);
    hone_status status = add_figure(
        p, "bars", "Gains", found, &script,
        found ? "Over the first row that runs, here and in the document where it has one." : "No row ran.");
    text_finish(&script);
    found = plot_roofline(s, &script);
    THEN(status,
         add_figure(
             p, "roofline", "Roofline", found, &script,
             found ? "Bytes and operations are those of each variant's own model; the roofs are a plain copy "
                     "and the device's arithmetic."
                   : "No row has both bytes and operations in its model."));
    text_finish(&script);
    found = plot_sizes(s, &script);
    if (!status)
        status =
            add_figure(p, "sizes", "Over sizes", found, &script, "Megapixels per second of the kernels.");
    text_finish(&script);
    return status;
}

static hone_status add_measured(const struct plotting *p, const struct page_subject *s)
{
    struct text script = {0}, about = {0};
    bool found = plot_shapes(s, &script, &about);
    hone_status status = add_figure(p, "shapes", "Work-group shapes", found, &script, text_view(&about));
    text_finish(&about);
    text_finish(&script);
    found = plot_timeline(s, &script, &about);
    THEN(status, add_figure(p, "timeline", "Timeline", found, &script, text_view(&about)));
    text_finish(&script);
    text_finish(&about);
    return status;
}

hone_status page_add(struct text *page, const struct page_subject *s, int number, hone_error *error)
{
    const hone_device_info *device = hone_device_get_info(s->device);
    const struct plotting p = {page, number, error};
    const hone_image_desc *in = &s->images[0];
    struct text line = {0};
    text_add(&line, "%s: %s", s->ladder->name, s->ladder->title);
    add_element(page, "h2", text_view(&line));
    text_finish(&line);
    text_add(&line, "%s, driver %s, %s. Chain '%s' on %s x%u, %ux%u.",
             device->board[0] ? device->board : device->name, device->driver_version, device->platform,
             s->ladder->chain, hone_type_name(in->type), in->channels, in->width, in->height);
    if (s->ladder->is_table)
        text_add(&line, " From: %s; %s%s%s.", s->ladder->table.document, s->ladder->table.where,
                 s->ladder->table.device ? ", on " : "",
                 s->ladder->table.device ? s->ladder->table.device : "");
    add_element(page, "p", text_view(&line));
    text_finish(&line);
    add_rows(page, s);
    hone_status status = add_ladder(&p, s);
    THEN(status, add_measured(&p, s));
    add_roofs(page, s);
    return status;
}
