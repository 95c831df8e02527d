/* SPDX-License-Identifier: BSD-2-Clause */
/* Pixels of four channels, in rows without gaps, that become fewer channels in place. */
#pragma once

#include <hone/hone.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Blends `count` pixels over a background (red, green, blue, 0 to 1) by their alpha: three channels are left.
 * `type` is u8, u16 or f32. */
void channels_flatten(hone_type type, void *pixels, uint64_t count, const double background[3]);

/* Whether red, green and blue are the same in each of `count` pixels of samples of `size` bytes. */
bool channels_are_gray(const unsigned char *pixels, uint64_t count, size_t size);

/* Keeps red and alpha. */
void channels_drop_colours(unsigned char *pixels, uint64_t count, size_t size);
