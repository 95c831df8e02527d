/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/probe/proof.h"

#include "base/error.h"
#include "base/text.h"

#define PARAMETERS                                                                                           \
    "(__global const float *in, int in_offset, int in_pitch, __global float *out, int out_offset, "          \
    "int out_pitch, int width, int height)\n"

/* Each reads in + in_offset + y * in_pitch + x and writes a pixel. */
static const char copy_source[] = "__kernel void proof" PARAMETERS "{\n"
                                  "    int x = get_global_id(0) * 4, y = get_global_id(1);\n"
                                  "    if (x + 4 <= width && y < height)\n"
                                  "        vstore4(vload4(0, in + in_offset + y * in_pitch + x), 0, out + "
                                  "out_offset + y * out_pitch + x);\n"
                                  "}\n";

static const char work_source[] =
    "__kernel void proof" PARAMETERS "{\n"
    "    int x = get_global_id(0) * 4, y = get_global_id(1);\n"
    "    if (x + 4 > width || y >= height)\n"
    "        return;\n"
    "    float4 a = vload4(0, in + in_offset + y * in_pitch + x), b = a + 1.0f, c = a + 2.0f, d = a + 3.0f;\n"
    "    for (int k = 0; k < 256; k++) {\n"
    "        a = a * 0.5f + 1.0f; b = b * 0.5f + 1.0f; c = c * 0.5f + 1.0f; d = d * 0.5f + 1.0f;\n"
    "    }\n"
    "    vstore4(a + b + c + d, 0, out + out_offset + y * out_pitch + x);\n"
    "}\n";

/* Few work-items, each of which cannot know its next address before its last load has come. */
static const char chase_source[] =
    "__kernel void proof" PARAMETERS "{\n"
    "    uint x = get_global_id(0), y = get_global_id(1), at = y * 7919u + x * 104729u;\n"
    "    for (int k = 0; k < width / 16; k++) {\n"
    "        uint row = at / (uint)width % (uint)height, column = at % (uint)width;\n"
    "        at = at * 1664525u + 1013904223u + (in[in_offset + (int)row * in_pitch + (int)column] > 2.0f);\n"
    "        at ^= as_uint(in[in_offset + (int)row * in_pitch + (int)column]) >> 9;\n"
    "    }\n"
    "    if ((int)x < width && (int)y < height)\n"
    "        out[out_offset + (int)y * out_pitch + (int)x] = (float)(at & 1023u);\n"
    "}\n";

#define PROOF(extent_x, extent_y, block_x)                                                                   \
    .passes = {PASS("proof", .extent = {extent_x, extent_y}, .block = {block_x, "1"}, .local = {"32", "2"},  \
                    .arguments = {"in", "out", "W", "H"})}

/* The sources take the place of what the filter's name finds: see replace(). */
static const struct variant variants[] = {
    {.name = "copy", .path = "buffer", PROOF("W", "H", "4"), .cost = {"8", "0.25", "0"}},
    {.name = "work", .path = "buffer", PROOF("W", "H", "4"), .cost = {"8", "0.25", "2048"}},
    {.name = "chase", .path = "buffer", PROOF("64", "32", "1"), .cost = {"4*2*2048*W/16/(W*H)", "1", "1"}},
};
static const struct hone_filter proof_filter = {.name = "add",
                                                .summary = "kernels built for the probes",
                                                .types = TYPE_F32,
                                                .channels = CHANNELS_1,
                                                .inputs = 1,
                                                VARIANTS(variants)};

static const struct {
    enum limiter built;
    const char *what, *source;
    const struct variant *variant;
    uint32_t width, height;
} proofs[PROOF_COUNT] = {
    {LIMIT_MEMORY, "copies 64 MiB, or more on a fast device", copy_source, &variants[0], 4096, 4096},
    {LIMIT_ARITHMETIC, "2048 operations for each pixel of 2 MP or more", work_source, &variants[1], 2048,
     1024},
    {LIMIT_LATENCY, "2048 work-items, each a chain of 256 loads or more from anywhere in 64 MiB or more",
     chase_source, &variants[2], 4096, 4096},
    {LIMIT_LAUNCH, "copies 64x64 pixels", copy_source, &variants[0], 64, 64},
};

static hone_status replace(void *context, struct text *source, hone_error *error)
{
    (void)error;
    text_finish(source);
    text_add(source, "%s", (const char *)context);
    return HONE_OK;
}

/* Sides grow until a copy of the largest picture takes far longer than a launch. */
static uint32_t scale_for(const struct roofs_list *roofs)
{
    enum { MOST = 4, LAUNCHES = 8, BYTES = 2 * 4 * 4096 * 4096 };
    const double launch = roofs->values[ROOF_LAUNCH], copy = roofs->values[ROOF_COPY_BUFFER];
    uint32_t scale = 1;
    while (scale < MOST && copy > 0 && (double)BYTES * scale * scale < LAUNCHES * launch * copy)
        scale *= 2;
    return scale;
}

hone_status proof_run(struct proof *proof, int index, hone_device *device, const struct roofs_list *roofs,
                      hone_error *error)
{
    struct filter_case c;
    const uint32_t scale = proofs[index].built == LIMIT_LAUNCH ? 1 : scale_for(roofs);
    const hone_image_desc in = {.width = proofs[index].width * scale,
                                .height = proofs[index].height * scale,
                                .type = HONE_F32,
                                .channels = 1};
    const struct row row = {.variant = proofs[index].variant};
    const struct probe_source source = {replace, (void *)(uintptr_t)proofs[index].source};
    *proof = (struct proof){.built = proofs[index].built, .what = proofs[index].what};
    TRY(case_init(&c, &proof_filter, error));
    hone_status status = case_prepare(&c, &in, NULL, error);
    THEN(status, probe_case(&proof->probed, &c, &row, device, &source, roofs, error));
    case_finish(&c);
    return status;
}
