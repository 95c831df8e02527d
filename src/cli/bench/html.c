/* SPDX-License-Identifier: BSD-2-Clause */
/* hone bench --html. */
#include "cli/bench/bench.h"

#include "base/error.h"
#include "base/file.h"
#include "lab/page/gnuplot.h"
#include "lab/page/page.h"

#include <errno.h>
#include <string.h>

enum { HALVINGS = 3, LEAST_SIDE = 64 };

void html_note_command(struct text *command, int argc, char **argv)
{
    text_add(command, "hone");
    for (int i = 0; i < argc; i++) {
        text_add(command, " ");
        text_add_shell(command, argv[i], false);
    }
}

hone_status html_begin(struct bench_run *run, hone_error *error)
{
    hone_status status = run->html ? gnuplot_check(error) : HONE_OK;
    if (!status && run->html)
        status = guard_output_begin(&run->page_file, run->html, error);
    if (!status && run->html)
        page_begin(&run->page, text_view(&run->command));
    return status;
}

void html_add_sizes(struct bench_run *run)
{
    const int formats = run->format_count;
    if (!run->html || run->image_count > formats)
        return;
    for (int h = 1; h <= HALVINGS; h++)
        for (int f = 0; f < formats && run->image_count < BENCH_SIZES * BENCH_FORMATS; f++) {
            hone_image_desc small = run->images[f];
            small.width >>= h;
            small.height >>= h;
            if (small.width >= LEAST_SIDE && small.height >= LEAST_SIDE)
                run->images[run->image_count++] = small;
        }
}

hone_status html_add(struct bench_run *run, const struct climbed *results, hone_error *error)
{
    hone_status status = HONE_OK;
    for (int d = 0; d < run->device_count && run->html && !status; d++) {
        const struct page_subject subject = {.ladder = run->ladder,
                                             .device = run->devices[d],
                                             .roofs = &run->roofs[d],
                                             .images = run->images,
                                             .image_count = run->image_count,
                                             .results = results + d * run->ladder->count,
                                             .stride = (size_t)(run->ladder->count * run->device_count)};
        status = page_add(&run->page, &subject, ++run->page_count, error);
    }
    return status;
}

hone_status html_end(struct bench_run *run, hone_error *error)
{
    if (!run->html)
        return HONE_OK;
    page_end(&run->page);
    if (!file_write_all(run->page_file.file.fd, text_view(&run->page), run->page.length))
        return error_io(error, "'%s' cannot be written: %s", run->html, strerror(errno));
    return guard_output_commit(&run->page_file, false, error);
}
