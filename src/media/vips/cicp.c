/* SPDX-License-Identifier: BSD-2-Clause */
/* Colours by code points (ITU-T H.273): the primaries and the transfer of AVIF, HEIC and PNG, which libvips
 * does not tell. HDR is described so. The matrix and the range are those of the file, and matter to its
 * decoder alone. */
#include "base/bytes.h"
#include "base/file.h"
#include "media/vips/internal.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_BOXES = 10000, MOST_COLOURS = 1000, BOX_HEAD = 8, LARGE_BOX_HEAD = 16, NCLX = 8 };

enum { BT_709 = 1, UNKNOWN = 2, BT_601 = 6, SRGB = 13 };

bool vips_find_box(int fd, struct vips_range in, const char *kind, struct vips_range *found)
{
    unsigned char head[LARGE_BOX_HEAD];
    off_t at = in.at;
    for (int box = 0; box < MOST_BOXES && in.end - at >= BOX_HEAD; box++) {
        if (file_read_at(fd, head, BOX_HEAD, at) != BOX_HEAD)
            return false;
        uint64_t size = big_endian(head, 4);
        off_t inside = at + BOX_HEAD;
        if (size == 1 && file_read_at(fd, head, LARGE_BOX_HEAD, at) == LARGE_BOX_HEAD) {
            size = big_endian(head + BOX_HEAD, 8);
            inside = at + LARGE_BOX_HEAD;
        }
        if (size == 0)
            size = (uint64_t)(in.end - at);
        if (size < (uint64_t)(inside - at) || size > (uint64_t)(in.end - at))
            return false;
        *found = (struct vips_range){inside, at + (off_t)size};
        if (!kind || memcmp(head + 4, kind, 4) == 0)
            return true;
        at = found->end;
    }
    return false;
}

/* The place of primaries and transfer in a HEIF, which are 2 bytes each; 0: there are none. */
static off_t find_nclx(int fd)
{
    struct stat info;
    struct vips_range box = {0};
    unsigned char nclx[NCLX];
    if (fstat(fd, &info) != 0)
        return 0;
    box.end = info.st_size;
    if (!vips_find_box(fd, box, "meta", &box))
        return 0;
    box.at += 4; /* version and flags */
    if (!vips_find_box(fd, box, "iprp", &box) || !vips_find_box(fd, box, "ipco", &box))
        return 0;
    struct vips_range in = box;
    for (int i = 0; i < MOST_COLOURS && vips_find_box(fd, in, "colr", &box); i++, in.at = box.end)
        if (file_read_at(fd, nclx, NCLX, box.at) == NCLX && memcmp(nclx, "nclx", 4) == 0)
            return box.at + 4;
    return 0;
}

static bool read_cicp(const struct media_input *input, struct vips_cicp *cicp)
{
    unsigned char bytes[4];
    if (strcmp(input->info.format, "PNG") == 0)
        return vips_png_cicp(input->fd, cicp);
    if (strcmp(input->info.format, "HEIF") != 0)
        return false;
    const off_t at = find_nclx(input->fd);
    if (!at || file_read_at(input->fd, bytes, sizeof bytes, at) != (ssize_t)sizeof bytes)
        return false;
    cicp->primaries = (unsigned)big_endian(bytes, 2);
    cicp->transfer = (unsigned)big_endian(bytes + 2, 2);
    /* A profile says more, and is what counts beside this. */
    return vips_image_get_typeof(vips_metadata_of(input), VIPS_META_ICC_NAME) == 0;
}

/* Formats that say nothing are shown as sRGB; many programs show BT.709 and BT.601 so, too. */
static bool is_usual(const struct vips_cicp *cicp)
{
    return (cicp->primaries == BT_709 || cicp->primaries == UNKNOWN) &&
           (cicp->transfer == BT_709 || cicp->transfer == UNKNOWN || cicp->transfer == BT_601 ||
            cicp->transfer == SRGB);
}

bool vips_cicp_of(const struct media_input *input, struct vips_cicp *cicp)
{
    return vips_metadata_of(input) && read_cicp(input, cicp) && !is_usual(cicp) && cicp->primaries < 256 &&
           cicp->transfer < 256;
}

int vips_set_nclx(int fd, const struct vips_cicp *cicp, bool *is_held)
{
    const unsigned char bytes[4] = {0, (unsigned char)cicp->primaries, 0, (unsigned char)cicp->transfer};
    const off_t at = find_nclx(fd), end = lseek(fd, 0, SEEK_END);
    if (!at)
        return vips_add_nclx(fd, end, cicp, is_held);
    *is_held = true;
    return file_write_at(fd, bytes, sizeof bytes, at) ? 0 : errno;
}
