/* SPDX-License-Identifier: BSD-2-Clause */
/* The plots of a page, as scripts for gnuplot. Each is false where there is nothing to plot. */
#pragma once

#include "lab/page/page.h"

/* Which of its table's sizes the first image has; -1: another one, or no table. */
int page_size_there(const struct page_subject *subject);

bool plot_bars(const struct page_subject *subject, struct text *script);
bool plot_roofline(const struct page_subject *subject, struct text *script);
bool plot_sizes(const struct page_subject *subject, struct text *script);
/* From what was tried while tuning on this device; `about` gets which of it. */
bool plot_shapes(const struct page_subject *subject, struct text *script, struct text *about);
/* Runs the chain as it would be run now; `about` gets by which variant. */
bool plot_timeline(const struct page_subject *subject, struct text *script, struct text *about);

#define PLOT_HERE  "#2a7ab9"
#define PLOT_THERE "#c07a1e"
#define PLOT_GREY  "#8a8a8a"
