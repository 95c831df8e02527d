/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * One page of HTML with what was climbed: bars, roofline, sizes, work-group shapes, a timeline, the machine.
 * Nothing in it is looked for elsewhere; it is well-formed XML, too.
 */
#pragma once

#include "base/text.h"
#include "lab/bench/ladder.h"

/* A ladder that was climbed on a device: result of step s on image i is results[i * stride + s]. */
struct page_subject {
    const struct ladder *ladder;
    hone_device *device;
    const struct roofs_list *roofs;
    const hone_image_desc *images;
    int image_count;
    const struct climbed *results;
    size_t stride;
};

/* Begins a page; `command` is how it can be made again. */
void page_begin(struct text *page, const char *command);
/* Adds a subject. `number` tells those of a page apart. A plot for which there is nothing says so in its
 * place. */
hone_status page_add(struct text *page, const struct page_subject *subject, int number, hone_error *error);
void page_end(struct text *page);
