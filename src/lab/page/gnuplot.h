/* SPDX-License-Identifier: BSD-2-Clause */
/* Plots by gnuplot, which is looked for when it is needed. */
#pragma once

#include "base/text.h"
#include "hone/status.h"

/* HONE_ERROR_UNSUPPORTED where gnuplot cannot be run: the message says what to install. */
hone_status gnuplot_check(hone_error *error);

/* Runs a script (its lines behind `set terminal`) and appends the picture, an <svg> element. `name` is of
 * letters and digits and begins all names in it, so that several stand in one page. */
hone_status gnuplot_svg(const char *script, const char *name, struct text *out, hone_error *error);

/* Appends a string constant of gnuplot's: what would end it is left out. */
void gnuplot_add_string(struct text *script, const char *string);
