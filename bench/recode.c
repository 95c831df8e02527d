/* SPDX-License-Identifier: BSD-2-Clause */
/* Decodes an image and encodes it again, with the library that hone reads and writes files by:
 * recode IN OUT */
#include <stdio.h>
#include <vips/vips.h>

int main(int argc, char **argv)
{
    if (argc != 3 || VIPS_INIT(argv[0]))
        return fprintf(stderr, "usage: recode IN OUT\n"), 2;
    VipsImage *image = vips_image_new_from_file(argv[1], "access", VIPS_ACCESS_SEQUENTIAL, NULL);
    int failed = !image || vips_image_write_to_file(image, argv[2], NULL);
    if (failed)
        fprintf(stderr, "%s", vips_error_buffer());
    if (image)
        g_object_unref(image);
    vips_shutdown();
    return failed;
}
