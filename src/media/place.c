/* SPDX-License-Identifier: BSD-2-Clause */
/* Turning images upright while they are read, so that no second copy of the pixels is needed. */
#include "media/reader.h"

#include <string.h>

/* Pixels per row and per column of the result that one step along a row of the file means, and where the row
 * starts. */
struct path {
    int64_t x, y, step_x, step_y;
};

static struct path path_of_row(const struct placement *place, uint32_t row)
{
    const int64_t right = (int64_t)place->width - 1, bottom = (int64_t)place->height - 1, y = row;
    switch (place->orientation) {
    case 2: /* mirrored left to right */
        return (struct path){right, y, -1, 0};
    case 3: /* upside down */
        return (struct path){right, bottom - y, -1, 0};
    case 4: /* mirrored top to bottom */
        return (struct path){0, bottom - y, 1, 0};
    case 5: /* rows are columns */
        return (struct path){y, 0, 0, 1};
    case 6: /* to be turned clockwise: the first row is the right column */
        return (struct path){bottom - y, 0, 0, 1};
    case 7:
        return (struct path){bottom - y, right, 0, -1};
    case 8: /* to be turned anticlockwise: the first row is the left column, from below */
        return (struct path){y, right, 0, -1};
    default:
        return (struct path){0, y, 1, 0};
    }
}

void media_put_row(const struct placement *place, uint32_t y, const void *row)
{
    const struct path path = path_of_row(place, y);
    const unsigned char *from = row;
    const size_t size = place->pixel_bytes;
    unsigned char *to =
        place->pixels + (size_t)(path.y - place->first) * place->pitch + (size_t)path.x * size;
    if (path.step_x == 1) {
        memcpy(to, from, (size_t)place->width * size);
        return;
    }
    const ptrdiff_t step = (ptrdiff_t)(path.step_y * (int64_t)place->pitch + path.step_x * (int64_t)size);
    for (uint32_t x = 0; x < place->width; x++, from += size, to += step)
        memcpy(to, from, size);
}

void media_spread_gray_alpha(void *to, const void *from, size_t count, size_t size)
{
    const unsigned char *source = from;
    unsigned char *target = to;
    for (size_t i = 0; i < count; i++, source += 2 * size, target += 4 * size) {
        memcpy(target, source, size);
        memcpy(target + size, source, size);
        memcpy(target + 2 * size, source, 2 * size);
    }
}
