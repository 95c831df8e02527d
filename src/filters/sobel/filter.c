/* SPDX-License-Identifier: BSD-2-Clause */
#include "filters/sobel/sobel.h"

REFERENCE(sobel);

static hone_status prepare(struct filter_case *c, hone_error *error)
{
    (void)error;
    /* Gradients are signed: of u8 they fit s16, of u16 they need 19 bits, which f32 holds exactly. */
    if ((int)case_number(c, "output") != SOBEL_MAGNITUDE)
        c->out.type = c->in.type == HONE_U8 ? HONE_S16 : HONE_F32;
    return HONE_OK;
}

/* Work-group shapes of kernels with one item per pixel or strip. */
#define GROUP_2D     WORK_GROUP("16 8 32 64", "16 1 2 4 8")

#define RESULT_BYTES "C*(OTYPE == 0 ? 1 : OTYPE == 2 ? 4 : 2)"

/* Kernels for magnitudes in words, of u8 with four elements to a word. */
#define PACKED_CONDITION "TYPE == 0 && OTYPE == 0"
#define PACKED_TUNABLES                                                                                      \
    {"WORDS", TUNABLE_DEFINE, "4 2", "words per work-item and row"},                                         \
        {"ROWS", TUNABLE_DEFINE, "16 2 4 6 8 12 24 32 48 64 128", "rows per work-item"},                     \
        {"UNROLL", TUNABLE_DEFINE, "2 4 6 8", "rows per round of the loop, loaded together"},                \
        {"SHUFFLE", TUNABLE_DEFINE, "0 1", "neighbours' pixels from the next lane instead of memory (PTX)"}, \
        WORK_GROUP("32 64 128 256 512", "1 2 4 8")

#define PACKED_CONSTRAINTS                                                                                   \
    {                                                                                                        \
        "W*C*BITS >= 64*WORDS", "32*WORDS >= C*BITS", "ROWS % UNROLL == 0",                                  \
            "!SHUFFLE || (PTX && WG_X % 32 == 0)"                                                            \
    }
#define PACKED_DEFINES                                                                                       \
    {                                                                                                        \
        "NORM=norm", "WITH_PTX=PTX", "TAIL=W*C*BITS % (32*WORDS) != 0"                                       \
    }

static const struct variant variants[] = {
    {VARIANT("direct", NULL, 0, "buffer", "one pixel per work-item, nine reads"), .brief = true,
     .fuses = FUSES_BEFORE | FUSES_AFTER, .tunables = {GROUP_2D}, .defines = {"OUTPUT=output", "NORM=norm"},
     .passes = {PASS("sobel_direct", .arguments = {"in", "out", "W", "H", "border"})},
     .cost = {"C*BITS/8 + " RESULT_BYTES, "9*C", "18*C"}},
    {VARIANT("maths", NULL, 0, "buffer", "direct with another root, and with other options of the compiler"),
     .condition = "output == 0 && norm == 0", .relaxed = true, .bounds = {1, 1, 1e-3},
     .options = {{"-cl-mad-enable", "OPTIONS == 1"}, {"-cl-fast-relaxed-math", "OPTIONS == 2"}},
     .tunables = {{"MATHS", TUNABLE_DEFINE, "0 1", "the root: sqrt() or native_sqrt()"},
                  {"OPTIONS", TUNABLE_BUILD, "0 1 2", "none, -cl-mad-enable, -cl-fast-relaxed-math"},
                  GROUP_2D},
     /* The root of u16 is put right by integers. Under -cl-fast-relaxed-math floats that are not finite may
      * give anything. */
     .constraints = {"MATHS == 0 || TYPE != 1", "OPTIONS < 2 || !FLOAT"},
     .defines = {"OUTPUT=output", "NORM=norm"},
     .passes = {PASS("sobel_direct", .arguments = {"in", "out", "W", "H", "border"})},
     .cost = {"C*BITS/8 + " RESULT_BYTES, "9*C", "18*C"}},
    {VARIANT("image", NULL, NEEDS_IMAGES, "image",
             "one pixel per work-item, nine reads through the texture unit"),
     .condition = "C != 3 && (BORDER == 0 || BORDER == 5)", .tunables = {GROUP_2D},
     .defines = {"OUTPUT=output", "NORM=norm"},
     .passes = {PASS("sobel_image", .arguments = {"in:uint", "out", "sampler", "W", "H"})},
     .cost = {"C*BITS/8 + " RESULT_BYTES, "9", "18*C"}},
    {VARIANT("separable", NULL, 0, "buffer", "a pass over rows and a pass over columns"), .brief = true,
     .tunables = {GROUP_2D}, .defines = {"OUTPUT=output", "NORM=norm"},
     .scratch = {{.bytes = "W*C*(H + 2)*2*(TYPE == 0 ? 2 : 4)"}},
     .passes = {PASS("sobel_rows", .extent = {"W*C", "H + 2"},
                     .arguments = {"in", "tmp0", "W", "H", "border"}),
                PASS("sobel_columns", .extent = {"W*C", "H"}, .arguments = {"tmp0", "in", "out", "W", "H"})},
     .cost = {"C*BITS/8 + 4*C*(TYPE == 0 ? 2 : 4) + " RESULT_BYTES, "8*C", "9*C"}},
    {VARIANT(
         "strips", NULL, 0, "buffer",
         "a strip of neighbouring pixels and several rows per work-item, each row loaded once as a vector"),
     .align = 64,
     .tunables = {{"PX", TUNABLE_DEFINE, "16 2 4 8", "elements across"},
                  {"ROWS", TUNABLE_DEFINE, "2 1 4 8 16 32", "rows"},
                  {"SHORT", TUNABLE_DEFINE, "0 1", "gradients of bytes in vectors of 16 bits"},
                  WORK_GROUP("16 8 32 64 128", "4 1 2 8 16")},
     .constraints = {"PX*BITS <= 512"}, .defines = {"OUTPUT=output", "NORM=norm"},
     .passes = {PASS("sobel_strips", .extent = {"W*C", "H"}, .block = {"PX", "ROWS"},
                     .arguments = {"in", "out", "W", "H", "border"})},
     .cost = {"C*BITS/8*(ROWS + 2)/ROWS + " RESULT_BYTES, "3*C*(ROWS + 2)/ROWS/PX", "14*C"}},
    {VARIANT("halves", "packed.cl", NEEDS_HALF, "packed",
             "two pixels per register as half precision numbers, strips of sliding rows"),
     .condition = PACKED_CONDITION, .fuses = FUSES_AFTER, .align = 16, .tunables = {PACKED_TUNABLES},
     .constraints = PACKED_CONSTRAINTS, .defines = PACKED_DEFINES,
     .passes = {PASS("sobel_halves", .extent = {"W*C", "H"}, .block = {"4*WORDS", "ROWS"},
                     .arguments = {"in", "out", "W", "H", "border"})},
     .cost = {"2*C*(ROWS + 1)/ROWS", "C*(1 + 2*!SHUFFLE)*(ROWS + 2)/ROWS/WORDS/4", "11*C"}},
    {VARIANT("swar", "packed.cl", 0, "packed",
             "two pixels per register as 16-bit integers, strips of sliding rows"),
     .condition = PACKED_CONDITION, .fuses = FUSES_AFTER, .align = 16, .tunables = {PACKED_TUNABLES},
     .constraints = PACKED_CONSTRAINTS, .defines = PACKED_DEFINES,
     .passes = {PASS("sobel_swar", .extent = {"W*C", "H"}, .block = {"4*WORDS", "ROWS"},
                     .arguments = {"in", "out", "W", "H", "border"})},
     .cost = {"2*C*(ROWS + 1)/ROWS", "C*(1 + 2*!SHUFFLE)*(ROWS + 2)/ROWS/WORDS/4", "12*C"}},
    {VARIANT("floats", "floats.cl", 0, "packed",
             "u16 and f32: words of several rows at once, computed with as floats"),
     .condition = "(TYPE == 1 || FLOAT) && OTYPE == TYPE && output == 0", .align = 16,
     .tunables = {PACKED_TUNABLES}, .constraints = PACKED_CONSTRAINTS, .defines = PACKED_DEFINES,
     .passes = {PASS("sobel_floats", .extent = {"W*C", "H"}, .block = {"WORDS*32/BITS", "ROWS"},
                     .arguments = {"in", "out", "W", "H", "border"})},
     .cost = {"C*BITS/4*(ROWS + 1)/ROWS", "C*(1 + 2*!SHUFFLE)*(ROWS + 2)/ROWS*BITS/32/WORDS", "14*C"}},
    {VARIANT("vectors", "cpu.cl", NEEDS_WIDE, "wide", "CPU: strips of one 64-byte vector, sliding rows"),
     .tunables = {{"ROWS", TUNABLE_DEFINE, "128 8 16 32 64 256 1024", "rows of a strip"},
                  {"WG_X", TUNABLE_LAUNCH, "8 1 4 16 32 64 128", "strips per work-group"}},
     .defines = {"OUTPUT=output", "NORM=norm"},
     .passes = {PASS("sobel_vectors", .extent = {"max(1, W*C*BITS/512)", "H"}, .block = {NULL, "ROWS"},
                     .arguments = {"in", "out", "W", "H", "border"})},
     .cost = {"C*BITS/8 + " RESULT_BYTES, "3*C*(1 + 2/ROWS)*BITS/512", "10*C"}},
    {VARIANT("lines", "cpu.cl", NEEDS_WIDE, "wide", "CPU: bands of rows in the order of memory"),
     .tunables = {{"STEP", TUNABLE_DEFINE, "8 2 4 16 32 64", "rows walked down at once"},
                  {"ROWS", TUNABLE_DEFINE, "16 32 64 128 256", "rows of a band"},
                  {"BLOCK", TUNABLE_DEFINE, "256 16 64 1024", "strips of 64 bytes across a band"}},
     .constraints = {"STEP <= ROWS"}, .defines = {"OUTPUT=output", "NORM=norm"},
     .passes = {PASS("sobel_lines", .extent = {"max(1, W*C*BITS/512)", "H"}, .block = {"BLOCK", "ROWS"},
                     .local = {"1", "1"}, .arguments = {"in", "out", "W", "H", "border"})},
     .cost = {"C*BITS/8 + " RESULT_BYTES, "3*C*(1 + 2/STEP)*BITS/512", "10*C"}},
};

static const struct seed seeds[] = {
    /* Half the code of STEP=8 where the root makes it long: the same time per image, a shorter first use. */
    {"WIDE && TYPE == 0 && output == 0 && norm == 0", "lines", "STEP=4"},
    /* Pieces of rows that end inside them are many starts for what fetches ahead. */
    {"WIDE && BITS > 8", "lines", "BLOCK=1024"},
    {"WIDE", "lines", ""},
    /* Few rows and many strips side by side: with long rows each row of a strip lies on a page of its own. */
    {"WIDE && W*C*BITS >= 65536", "vectors", "ROWS=16 WG_X=64"},
    {"WIDE", "vectors", "ROWS=32 WG_X=64"},
    {"PTX && H >= 2048", "halves", "WORDS=4 ROWS=6 UNROLL=6 WG_X=32 WG_Y=4"},
    {"PTX", "halves", "WORDS=4 ROWS=4 UNROLL=4 WG_X=32 WG_Y=4"},
    {"PTX", "floats", "WORDS=4 ROWS=4 UNROLL=4 WG_X=32 WG_Y=4"},
    {"GPU", "swar", "ROWS=16 WORDS=4 WG_X=64"},
    {"GPU && TYPE == 1", "strips", "PX=8 ROWS=8 WG_X=32 WG_Y=4"},
    {"GPU", "strips", "PX=4 ROWS=8 WG_X=32 WG_Y=4"},
    {"GPU", "image", ""},
    {"CPU && TYPE == 0 && C == 1", "swar", "WORDS=4 ROWS=16 UNROLL=2 WG_X=32"},
    {"CPU", "strips", "PX=8 ROWS=32 WG_X=16 WG_Y=1"},
    {NULL, "direct", ""},
};

static const struct rung rungs[] = {
    {"1x1", "one pixel per work-item, 3x3 pixels loaded", "direct", "", "guide 9.3.2, figure 9-9, table 9-4"},
    {"separable", "rows first, columns after", "separable", "", "guide 9.3.1, figure 9-8"},
    {"16x1", "16 pixels per work-item, 18x3 loaded as vectors", "strips", "PX=16 ROWS=1 SHORT=1",
     "guide 9.3.2 and 9.3.3, figure 9-10, tables 9-4 and 9-5"},
    {"16x2", "16x2 pixels per work-item, 18x4 loaded as vectors", "strips", "PX=16 ROWS=2 SHORT=1",
     "guide 9.3.2 and 9.3.3, figure 9-11, tables 9-4 and 9-5"},
    {"standard", "1x1 with sqrt()", "maths", "", "guide 8.3"},
    {"native", "1x1 with native_sqrt()", "maths", "MATHS=1", "guide 8.3"},
    {"mad", "1x1 built with -cl-mad-enable", "maths", "OPTIONS=1", "guide 8.2"},
    {"fast", "1x1 built with -cl-fast-relaxed-math, integers alone", "maths", "OPTIONS=2",
     "guide 8.2 and 8.3"},
    {"texture", "texture instead of buffer", "image", "", "guide 9.3.4, left as a possibility"},
    {"sliding", "rows slide through registers", "strips", "PX=8 ROWS=16", "hone"},
    {"packed", "two pixels per register, integers", "swar", "", "hone"},
    {"half2", "two pixels per register, half precision", "halves", "", "hone"},
    {"wide", "64-byte vectors", "vectors", "", "hone"},
    {"wide-lines", "64-byte vectors in the order of memory", "lines", "", "hone"},
};

/* What tests and the doctor try. */
static const char *const trials[] = {"norm=l1", "", "output=dx", "output=dy", NULL};

static const char *const usual[] = {"norm=l1", "norm=l2", NULL};

static const char *const ahead[] = {"output=dx", NULL};

const struct hone_filter hone_filter_sobel = {
    FILTER("sobel", "gradient with 3x3 Sobel masks: magnitude, or one component", "guide 9.3", TYPES_ALL,
           CHANNELS_ALL, 1),
    .spatial = true, .window = {"1", "1", "1", "1"},
    .parameters = {CHOICE_PARAMETER("norm", "l2", "l2|l1",
                                    "magnitude as sqrt(dx^2 + dy^2) or as |dx| + |dy|"),
                   CHOICE_PARAMETER("output", "magnitude", "magnitude|dx|dy",
                                    "dx is right minus left, dy is below minus above, unscaled and signed")},
    .prepare = prepare,
    .examples = {{"edges of a photograph", "'sobel' photo.jpg -o edges.png"},
                 {"edges of a slightly blurred photograph, in colours",
                  "'gaussian sigma=1.5 | sobel norm=l1 | colormap' gray.png -o edges.png"}},
    .reference = sobel_reference,
    /* Integers: exact. Floats: at most 10 roundings of values up to 8 * max, and a root of 3 ulp. */
    .bounds = {0, 0, 1e-5}, TABLES(variants, seeds, rungs), .trials = trials, .usual = usual, .ahead = ahead};
