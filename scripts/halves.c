/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Joins two pictures of one size for a before-and-after view: the left of the first, the right of the second,
 * a white line between them, scaled down.
 *
 *   halves BEFORE AFTER OUTPUT.jpg WIDTH
 */
#include <stdio.h>
#include <stdlib.h>
#include <vips/vips.h>

static int join(VipsImage *before, VipsImage *after, VipsImage **out)
{
    int half = before->Xsize / 2, line = before->Xsize / 400;
    VipsImage *left = NULL, *right = NULL, *black = NULL, *white = NULL, *most = NULL;
    int failed = vips_extract_area(before, &left, 0, 0, half, before->Ysize, NULL) ||
                 vips_extract_area(after, &right, half, 0, after->Xsize - half, after->Ysize, NULL) ||
                 vips_black(&black, line, before->Ysize, "bands", 3, NULL) ||
                 vips_invert(black, &white, NULL) ||
                 vips_join(left, right, &most, VIPS_DIRECTION_HORIZONTAL, NULL) ||
                 vips_insert(most, white, out, half - line / 2, 0, NULL);
    VipsImage *made[] = {left, right, black, white, most};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        if (made[i])
            g_object_unref(made[i]);
    return failed;
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr, "usage: halves BEFORE AFTER OUTPUT.jpg WIDTH\n");
        return 2;
    }
    if (vips_init(argv[0]))
        return 1;
    VipsImage *before = vips_image_new_from_file(argv[1], NULL),
              *after = vips_image_new_from_file(argv[2], NULL);
    VipsImage *joined = NULL, *small = NULL;
    int failed = !before || !after || join(before, after, &joined) ||
                 vips_thumbnail_image(joined, &small, atoi(argv[4]), NULL) ||
                 vips_jpegsave(small, argv[3], "Q", 88, "strip", TRUE, NULL);
    if (failed)
        fprintf(stderr, "halves: %s", vips_error_buffer());
    return failed != 0;
}
