/* SPDX-License-Identifier: BSD-2-Clause */
#include "media/description.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *skip_space(const char *text)
{
    return text + strspn(text, " \t\r\n");
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

enum description_kind description_kind(const char *text)
{
    const char *at = skip_space(text);
    if (begins(at, "ImageJ="))
        return DESCRIPTION_IMAGEJ;
    if (begins(at, "<OME") || (begins(at, "<?xml") && strstr(at, "<OME")))
        return DESCRIPTION_OME;
    if (*at == '{' && begins(skip_space(at + 1), "\"shape\""))
        return DESCRIPTION_SHAPED;
    return DESCRIPTION_PLAIN;
}

const char *description_name(enum description_kind kind)
{
    static const char *const names[] = {"plain text", "ImageJ", "OME-XML", "tifffile"};
    return names[kind];
}

/* ---- ImageJ: lines of name=value ---- */

/* How many pages there are, and how a hyperstack orders them. */
static bool counts_pages(const char *line)
{
    static const char *const names[] = {
        "images=", "channels=", "slices=", "frames=", "hyperstack=", "mode=", "loop="};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (begins(line, names[i]))
            return true;
    return false;
}

static void imagej_of_one(struct text *out, const char *text)
{
    for (const char *line = skip_space(text); *line;) {
        const size_t length = strcspn(line, "\n");
        const bool first = begins(line, "ImageJ=");
        if (!counts_pages(line))
            text_add(out, "%.*s\n", (int)length, line);
        if (first)
            text_add(out, "images=1\n");
        line += length + (line[length] == '\n');
    }
}

/* ---- OME-XML ---- */

/* The value of an attribute, still with its entities; length 0 where there is none. */
struct value {
    const char *at;
    int length;
};

/* The first element of this name, from '<' on; *end is its '>'. NULL: there is none. */
static const char *find_element(const char *text, const char *name, const char **end)
{
    const size_t length = strlen(name);
    for (const char *at = text; (at = strchr(at, '<')); at++)
        if (strncmp(at + 1, name, length) == 0 && strchr(" \t\r\n/>", at[length + 1])) {
            *end = strchr(at, '>');
            return *end ? at : NULL;
        }
    return NULL;
}

static struct value attribute(const char *element, const char *end, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = element; at + length + 2 < end; at++) {
        if (!strchr(" \t\r\n", *at) || strncmp(at + 1, name, length) != 0 || at[length + 1] != '=')
            continue;
        const char quote = at[length + 2], *value = at + length + 3;
        const char *close =
            quote == '"' || quote == '\'' ? memchr(value, quote, (size_t)(end - value)) : NULL;
        if (close)
            return (struct value){value, (int)(close - value)};
    }
    return (struct value){"", 0};
}

static bool is_number(struct value value, uint32_t number)
{
    char text[16];
    const int length = snprintf(text, sizeof text, "%u", number);
    return value.length == length && memcmp(value.at, text, (size_t)length) == 0;
}

static const char *ome_type(hone_type type)
{
    static const char *const names[] = {[HONE_U8] = "uint8",
                                        [HONE_U16] = "uint16",
                                        [HONE_F32] = "float",
                                        [HONE_S16] = "int16",
                                        [HONE_U32] = "uint32"};
    return names[type];
}

static bool ome_holds(const char *text, const hone_image_desc *desc)
{
    const char *end, *pixels = find_element(text, "Pixels", &end);
    if (!pixels || find_element(end, "Pixels", &(const char *){NULL}))
        return false;
    const struct value type = attribute(pixels, end, "Type");
    const char *own = ome_type(desc->type);
    return is_number(attribute(pixels, end, "SizeX"), desc->width) &&
           is_number(attribute(pixels, end, "SizeY"), desc->height) &&
           is_number(attribute(pixels, end, "SizeC"), desc->channels) &&
           is_number(attribute(pixels, end, "SizeZ"), 1) && is_number(attribute(pixels, end, "SizeT"), 1) &&
           (size_t)type.length == strlen(own) && memcmp(type.at, own, strlen(own)) == 0;
}

static void keep_attribute(struct text *out, const char *element, const char *end, const char *name)
{
    const struct value value = element ? attribute(element, end, name) : (struct value){"", 0};
    if (value.length > 0 && !memchr(value.at, '<', (size_t)value.length) &&
        !memchr(value.at, '"', (size_t)value.length))
        text_add(out, " %s=\"%.*s\"", name, value.length, value.at);
}

static void ome_of_one(struct text *out, const char *text, const hone_image_desc *desc)
{
    static const char *const kept[] = {"PhysicalSizeX", "PhysicalSizeXUnit", "PhysicalSizeY",
                                       "PhysicalSizeYUnit"};
    const char *image_end = "", *pixels_end = "", *channel_end = "";
    const char *image = find_element(text, "Image", &image_end);
    const char *pixels = find_element(text, "Pixels", &pixels_end);
    const char *channel = find_element(text, "Channel", &channel_end);
    text_add(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>"
                  "<OME xmlns=\"http://www.openmicroscopy.org/Schemas/OME/2016-06\" "
                  "xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" "
                  "xsi:schemaLocation=\"http://www.openmicroscopy.org/Schemas/OME/2016-06 "
                  "http://www.openmicroscopy.org/Schemas/OME/2016-06/ome.xsd\">"
                  "<Image ID=\"Image:0\"");
    keep_attribute(out, image, image_end, "Name");
    text_add(out,
             "><Pixels ID=\"Pixels:0\" DimensionOrder=\"XYCZT\" Type=\"%s\" SizeX=\"%u\" SizeY=\"%u\" "
             "SizeC=\"%u\" "
             "SizeZ=\"1\" SizeT=\"1\" Interleaved=\"true\"",
             ome_type(desc->type), desc->width, desc->height, desc->channels);
    for (size_t i = 0; i < COUNT_OF(kept); i++)
        keep_attribute(out, pixels, pixels_end, kept[i]);
    text_add(out, "><Channel ID=\"Channel:0:0\" SamplesPerPixel=\"%u\"", desc->channels);
    keep_attribute(out, channel, channel_end, "Name");
    text_add(out, "/><TiffData IFD=\"0\" PlaneCount=\"1\"/></Pixels></Image></OME>");
}

/* ---- tifffile ---- */

static void shaped_of_one(struct text *out, const hone_image_desc *desc)
{
    text_add(out, "{\"shape\": [%u, %u", desc->height, desc->width);
    if (desc->channels > 1)
        text_add(out, ", %u", desc->channels);
    text_add(out, "]}");
}

char *description_of_one(const char *text, const hone_image_desc *desc)
{
    struct text out = {0};
    switch (description_kind(text)) {
    case DESCRIPTION_IMAGEJ:
        imagej_of_one(&out, text);
        break;
    case DESCRIPTION_OME:
        if (ome_holds(text, desc))
            return mem_copy_text(text);
        ome_of_one(&out, text, desc);
        break;
    case DESCRIPTION_SHAPED:
        shaped_of_one(&out, desc);
        break;
    case DESCRIPTION_PLAIN:
        return mem_copy_text(text);
    }
    char *result = text_take(&out);
    text_finish(&out);
    return result;
}
