/* SPDX-License-Identifier: BSD-2-Clause */
#include "filter/filter.h"
#include "filters/abreast.h"
#include "filters/slides.h"
#include "filters/windows.h"

REFERENCE(box);

static int64_t side(const struct filter_case *c, const char *name)
{
    const struct value *own = case_value(c, name);
    return (int64_t)(own->given ? own->number : case_number(c, "size"));
}

/* How many levels a format has above its least: sums of s16 are made positive before they are divided. */
static uint64_t span(hone_type type)
{
    return type == HONE_S16 ? UINT16_MAX : type_is_integer(type) ? (uint64_t)type_full_scale(type) : 1;
}

/* The upper half of a 32-bit product is what vectors of 16 bits take. */
static bool in_upper_half(uint64_t *multiplier, unsigned *shift)
{
    for (; *shift < 16; ++*shift)
        *multiplier *= 2;
    return *multiplier <= UINT16_MAX;
}

static bool divides_16(uint64_t area, uint64_t most, uint64_t *multiplier, unsigned *shift)
{
    return most <= UINT16_MAX && division_constants(area, most, 16, multiplier, shift) &&
           in_upper_half(multiplier, shift);
}

/* The same of what is one more than a sum. */
static bool divides_next_16(uint64_t area, uint64_t most, uint64_t *multiplier, unsigned *shift)
{
    return most < UINT16_MAX && division_constants_of_next(area, most, 16, multiplier, shift) &&
           in_upper_half(multiplier, shift);
}

/* What a window's sum has beyond its area times a mean that is as much less than the one above as it can be:
 * what sums differ by from one row to the next, white for each column, and the area times what that makes of
 * a mean at most, and once more. See cpu.cl. */
static uint64_t most_beyond(const struct filter_case *c, int64_t width, int64_t height)
{
    const uint64_t white = span(c->in.type), rows = (uint64_t)height, reach = (white - 1 + rows) / rows;
    return white * (uint64_t)width + (reach + 1) * (uint64_t)(width * height) - 1;
}

/* Windows of u8 whose sums may wrap around in 16 bits. */
static bool wraps(const struct filter_case *c, int64_t width, int64_t height, uint64_t *multiplier,
                  unsigned *shift, bool *next)
{
    const uint64_t area = (uint64_t)(width * height), most = most_beyond(c, width, height);
    if (c->in.type != HONE_U8 || height > UINT8_MAX)
        return false;
    *next = !divides_16(area, most, multiplier, shift);
    return !*next || divides_next_16(area, most, multiplier, shift);
}

/* The upper half of a 64-bit product is what vectors of 32 bits take. */
static bool divides_32(uint64_t area, uint64_t most, uint64_t *multiplier, unsigned *shift)
{
    if (most > UINT32_MAX || !division_constants(area, most, 32, multiplier, shift))
        return false;
    for (; *shift < 32 && *multiplier <= INT32_MAX; ++*shift)
        *multiplier *= 2;
    return true;
}

/* Windows of u16 whose sums may wrap around in 32 bits. */
static bool wraps_32(const struct filter_case *c, int64_t width, int64_t height, uint64_t *multiplier,
                     unsigned *shift)
{
    return c->in.type == HONE_U16 && height <= UINT16_MAX &&
           divides_32((uint64_t)(width * height), most_beyond(c, width, height), multiplier, shift);
}

/* How to divide by the window's area: DIV16 with sums of 16 bits, or WRAPPED (DM16, DS16; NEXT: of sums that
 * are one more), DIV32 with sums of 32 bits, or WRAPPED32 (DM, DS). Half of the area is added before: a half
 * goes up. */
static void set_division(struct filter_case *c, int64_t width, int64_t height)
{
    const uint64_t area = (uint64_t)(width * height), most = area * span(c->in.type) + area / 2;
    uint64_t multiplier = 0;
    unsigned shift = 0;
    const bool integer = type_is_integer(c->in.type);
    bool fits = integer && divides_16(area, most, &multiplier, &shift), next = false;
    case_set_symbol(c, "DIV16", fits);
    case_set_symbol(c, "WRAPPED", !fits && wraps(c, width, height, &multiplier, &shift, &next));
    case_set_symbol(c, "NEXT", case_symbol(c, "WRAPPED") && next);
    case_set_symbol(c, "DM16", (int64_t)multiplier);
    case_set_symbol(c, "DS16", shift);
    fits = integer && divides_32(area, most, &multiplier, &shift);
    case_set_symbol(c, "DIV32", fits);
    case_set_symbol(c, "WRAPPED32", !fits && wraps_32(c, width, height, &multiplier, &shift));
    case_set_symbol(c, "DM", (int64_t)multiplier);
    case_set_symbol(c, "DS", shift);
}

/* Sums of u8 divided as floats, by one multiplication and an addition of 2^23: exact while what is rounded
 * off, three parts in 2^24 of at most 255, is less than the distance from a half to the next quotient. Of an
 * even area there are ties: its inverse is 2^-22 more, which takes them up, and has as much less room. */
static void set_inverse(struct filter_case *c, int64_t area)
{
    const bool even = area % 2 == 0;
    c->reals[0] = (float)((even ? 1 + 0x1p-22 : 1) / (double)area);
    c->reals[1] = (float)(1 / (double)area);
    case_set_symbol(c, "FLOAT_MEANS",
                    c->in.type == HONE_U8 && !case_symbol(c, "DIV16") && !case_symbol(c, "WRAPPED") &&
                        area <= (even ? 9300 : 10900));
}

/* The largest divisor that is at most the square root: how the two-pass form splits a side. */
static int64_t factor(int64_t side)
{
    int64_t best = 1;
    for (int64_t f = 2; f * f <= side; f++)
        if (side % f == 0)
            best = f;
    return best;
}

static hone_status prepare(struct filter_case *c, hone_error *error)
{
    int64_t width = side(c, "width"), height = side(c, "height");
    if (width > HONE_MAX_PIXELS / height)
        return case_wrong(error, "box: a window of %lldx%lld is over the limit of 2^30 pixels",
                          (long long)width, (long long)height);
    case_set_symbol(c, "KW", width);
    case_set_symbol(c, "KH", height);
    case_set_symbol(c, "AREA", width * height);
    bool power = ((width * height) & (width * height - 1)) == 0;
    case_set_symbol(c, "POWER", power ? __builtin_ctzll((unsigned long long)(width * height)) : -1);
    case_set_symbol(c, "FX", factor(width));
    case_set_symbol(c, "FY", factor(height));
    case_set_symbol(c, "MOST", (int64_t)span(c->in.type));
    set_abreast(c, width, height, (int64_t)span(c->in.type));
    set_division(c, width, height);
    set_inverse(c, width * height);
    case_set_symbol(c, "COLUMN_BITS",
                    height * (int64_t)span(c->in.type) <= UINT16_MAX && c->in.type == HONE_U8 ? 16 : 32);
    case_set_symbol(c, "SUM_BYTES", case_symbol(c, "DIV32") ? 4 : 8);
    return HONE_OK;
}

/* Work-group shapes of kernels with one item per pixel or strip. */
#define GROUP_2D WORK_GROUP("16 8 32 64", "16 1 2 4 8")

/* Sums of a whole window in 32 bits, or else in 64. */
#define SUM32    "(FLOAT || AREA*MOST + AREA/2 <= 4294967295)"
#define SUM64    "SUM64=!" SUM32
#define SUM_SIZE "(" SUM32 " ? 4 : 8)"

/* Half of an area is added to sums before they are divided, to pixels of s16 2^15 each. The multiplier of one
 * pixel would have 33 bits: 2^32 - 1 does of a sum that is one more. */
#define BANDS_HALF "(AREA == 1 ? 1 : AREA/2 + NEXT) + (TYPE == 3 ? AREA*32768 : 0)"

/* Rests, up to an area and at most half of one and 255 for each column, are below 2^22: as floats exact,
 * halves too, and their quotients, off by 2^-23, on the right side of a half. Elements of a row of whole
 * blocks, and of one of changes; bands. */
#define CHANGES       "TYPE == 0 && !DIV16 && !WRAPPED && AREA + 510*KW <= 4000000"
#define CHANGES_PITCH "(64*ceildiv(W*C, C == 3 ? 60 : 64))"
#define CHANGES_LINE  "roundup((W + KW)*C + 128, 64)"
#define CHANGES_BANDS "ceildiv(H, " BANDS_ROWS("KH") ")"

/* What a band of `doubles` keeps: sums of columns, those beyond the edges, too. */
#define DOUBLES_LINE "roundup((W + KW)*C + 16, 16)"

/* Windows whose columns' sums have 32 bits; the sums of whole windows have 64 where they must. */
#define ABREAST_WINDOWS "AREA > 1 && !FLOAT && (DIV32 || TYPE > 0) && KH*MOST <= 4294967295"
#define SUM_CLASSES     "WIDE_SUMS=!FLOAT && !DIV32", "FLOAT_SUMS=TYPE == 0 && AREA <= 12288 && KH <= 128"
#define ABREAST_CLASSES                                                                                      \
    "classes of windows: sums of columns and of windows take as many bits as they need; where columns come " \
    "in pairs, windows begin and end with one or with half of one"
#define ABREAST_ARGUMENTS                                                                                    \
    "in", "out", "local:" ABREAST_LOCAL, "W", "H", "KW", "KH", "border", ABREAST_TILE("KW"),                 \
        ABREAST_ROWS("KW", "TEAMS"), "AREA", "DIV32 ? DM : 1", "DIV32 ? DS : 32"

/* Bytes for the sums of columns, or the means, of BATCH rows, and for sums of pieces. Means take the places
 * of sums where there is too little local memory for both. */
#define PIECES_CELLS    "(4*BATCH*((WG_X*WORDS + 2*RUN*C)*(RUN + 1)/RUN + 2*WORDS))"
#define PIECES_SUMS     "(4*WG_X*BATCH*WORDS/RUN)"
#define PIECES_IN_PLACE "(2*" PIECES_CELLS " + " PIECES_SUMS " > LMEM)"
#define PIECES_LOCAL    "(RUN == 1 ? 16 : " PIECES_CELLS "*(2 - " PIECES_IN_PLACE ") + " PIECES_SUMS ")"
#define PIECES_TUNABLES                                                                                      \
    {"WORDS", TUNABLE_DEFINE, "4 8", "elements of a work-item and row"},                                     \
        {"BATCH", TUNABLE_DEFINE, "4 2 8", "rows at a time"},                                                \
        {"RUN", TUNABLE_DEFINE, "8 16 4 2 1", "windows of a work-item; 1: of one column"},                   \
        {"GROUPS", TUNABLE_LAUNCH, "4 1 2 3 6 8 12 24", "work-groups per compute unit"},                     \
    {                                                                                                        \
        "WG_X", TUNABLE_DEFINE, "128 32 64 256 512", "work-group width"                                      \
    }
#define PIECES_CONSTRAINTS                                                                                   \
    "(RUN == 1) == (KW == 1)", "RUN <= KW && RUN + KW/RUN <= 160", "BATCH*WORDS % RUN == 0",                 \
        ABREAST_MOST("KW") " >= " ABREAST_STEP, PIECES_LOCAL " <= LMEM"
#define PIECES_ARGUMENTS                                                                                     \
    "in", "out", "local:" PIECES_LOCAL, "W", "H", "KW", "KH", "border", ABREAST_TILE("KW"),                  \
        ABREAST_ROWS("KW", "1"), "AREA"

/* The pass before that sums up bands of rows of floats: rows of a band, bands and work-items of a work-group,
 * columns of all of them. */
#define PIECES_BAND   "16"
#define PIECES_BANDS  "16"
#define PIECES_GROUP  "512"
#define PIECES_STRIDE "roundup(W*C, 128)"

static const struct variant variants[] = {
    {VARIANT("direct", NULL, 0, "buffer", "one pixel per work-item, every pixel of the window read"),
     .brief = true, .fuses = FUSES_BEFORE | FUSES_AFTER, .tunables = {GROUP_2D}, .defines = {SUM64},
     .passes = {PASS("box_direct", .arguments = {"in", "out", "W", "H", "KW", "KH", "border"})},
     .cost = {"2*C*BITS/8", "KW*KH*C", "KW*KH*C"}},
    {VARIANT("image", NULL, NEEDS_IMAGES, "image",
             "the same through the texture unit, pixels read as integers"),
     .condition = "C != 3 && TYPE != 3 && (BORDER == 0 || BORDER == 5) && " SUM32, .tunables = {GROUP_2D},
     .passes = {PASS("box_image", .arguments = {"in:uint", "out", "sampler", "W", "H", "KW", "KH"})},
     .cost = {"2*C*BITS/8", "KW*KH + 1", "KW*KH*C"}},
    {VARIANT("image_unorm", NULL, NEEDS_IMAGES, "image",
             "the guide's first form: 64 texture reads as floats of 0..1, rounded by the texture unit"),
     .condition = "TYPE == 0 && C <= 2 && BORDER == 0 && KW == 8 && KH == 8", .relaxed = true, .bounds = {1},
     /* a mean half-way between two levels may go to either */
     .specialised = "the guide's kernel is written for 8x8", .tunables = {GROUP_2D},
     .passes = {PASS("box_image_unorm", .arguments = {"in:unorm", "out:unorm", "sampler", "W", "H"})},
     .cost = {"2*C", "64", "64*C"}},
    {VARIANT("pairs_unorm", NULL, NEEDS_IMAGES, "image",
             "the guide's second form: 2x2 means in 8 bits, then 4x4 of them (20 texture reads)"),
     .condition = "TYPE == 0 && C <= 2 && BORDER == 0 && KW == 8 && KH == 8", .relaxed = true, .bounds = {1},
     /* the 8-bit means in between are off by at most half a level, and so is their mean */
     .specialised = "the guide's kernels are written for 8x8", .tunables = {GROUP_2D},
     .scratch = {{.width = "W + 6", .height = "H + 6", .type = HONE_U8, .normalised = true}},
     .passes = {PASS("box_mean2", .extent = {"W + 6", "H + 6"},
                     .arguments = {"in:unorm", "tmp0", "sampler", "W + 6", "H + 6"}),
                PASS("box_mean16", .arguments = {"tmp0", "out:unorm", "sampler", "W", "H"})},
     .cost = {"4*C", "20", "20*C"}},
    {VARIANT("pairs_image", NULL, NEEDS_IMAGES, "image",
             "the guide's two passes by image, exact: sums of 2x2 in 16 bits, then 4x4 of them, for any "
             "size with factors"),
     .condition = "TYPE == 0 && C != 3 && (BORDER == 0 || BORDER == 5) && (FX > 1 || FY > 1) && FX*FY <= 257 "
                  "&& " SUM32,
     .specialised = "FX and FY set how far the inner loops run", .tunables = {GROUP_2D},
     .defines = {"FX=FX", "FY=FY"},
     .scratch = {{.width = "W + KW - FX", .height = "H + KH - FY", .type = HONE_U16}},
     .passes = {PASS("box_parts_image", .extent = {"W + KW - FX", "H + KH - FY"},
                     .arguments = {"in:uint", "tmp0", "sampler", "KW/2", "KH/2", "W + KW - FX",
                                   "H + KH - FY"}),
                PASS("box_join_image", .arguments = {"tmp0", "in", "out", "sampler", "W", "H", "KW", "KH"})},
     .cost = {"6*C", "FX*FY + KW*KH/FX/FY", "C*(FX*FY + KW*KH/FX/FY)"}},
    {VARIANT("pairs", NULL, 0, "buffer",
             "the guide's two passes by buffer, exact, for any size with factors"),
     .condition = "FX > 1 || FY > 1", .specialised = "FX and FY set how far the inner loops run",
     .tunables = {GROUP_2D}, .defines = {"FX=FX", "FY=FY", SUM64},
     .scratch = {{.bytes = "(W + KW - FX)*(H + KH - FY)*C*4"}},
     .passes = {PASS("box_parts", .extent = {"W + KW - FX", "H + KH - FY"},
                     .arguments = {"in", "tmp0", "W", "H", "KW/2", "KH/2", "W + KW - FX", "H + KH - FY",
                                   "border"}),
                PASS("box_join", .arguments = {"tmp0", "in", "out", "W", "H", "KW", "KH", "W + KW - FX"})},
     .cost = {"2*C*BITS/8 + 2*C*(TYPE == 0 ? 2 : 4)", "C*(FX*FY + KW*KH/FX/FY)", "C*(FX*FY + KW*KH/FX/FY)"}},
    {VARIANT("separable", NULL, 0, "buffer", "sums along rows, then along columns"), .brief = true,
     .tunables = {GROUP_2D}, .defines = {SUM64}, .scratch = {{.bytes = "W*H*C*" SUM_SIZE}},
     .passes = {PASS("box_rows", .extent = {"W*C", "H"},
                     .arguments = {"in", "tmp0", "W", "H", "KW", "border"}),
                PASS("box_columns", .extent = {"W*C", "H"},
                     .arguments = {"tmp0", "in", "out", "W", "H", "KW", "KH", "border"})},
     .cost = {"2*C*BITS/8 + 2*C*" SUM_SIZE, "C*(KW + KH)", "C*(KW + KH)"}},
    {VARIANT("strips", NULL, 0, "buffer",
             "strips 2 to 16 elements wide that slide down, column sums in registers"),
     .condition = "KW <= 32 && KH <= (FLOAT ? 16 : 4096) && " SUM32, .align = 64,
     .specialised = "the window's width sets how many column sums are kept in registers",
     .tunables = {{"PX", TUNABLE_DEFINE, "8 2 4 16", "elements across"},
                  {"ROWS", TUNABLE_DEFINE, "32 8 16 64 128", "rows"},
                  WORK_GROUP("32 8 16 64 128 256", "1 2 4 8")},
     .constraints = {"PX*BITS <= 512", "PX + (KW - 1)*C <= 80"}, .defines = {"KW=KW", "KH=KH"},
     .passes = {PASS("box_strips", .extent = {"W*C", "H"}, .block = {"PX", "ROWS"},
                     .arguments = {"in", "out", "W", "H", "border"})},
     .cost = {"2*C*BITS/8", "2*C*(1 + (KW - 1)*C)*(ROWS + KH)/ROWS/PX",
              "C*(FLOAT ? KW + KH : 5)*(ROWS + KH)/ROWS"}},
    {VARIANT("packed", "packed.cl", 0, "packed",
             "two sums per register, strips that slide down, window sums in a logarithmic number of steps"),
     .condition = "TYPE == 0 && AREA <= 256 && KW <= 32", .fuses = FUSES_AFTER, .align = 16,
     .options = {{"-cl-nv-maxrregcount=144", "PTX && KEEP == 2 && WORDS == 4 && KH <= 8"}},
     .specialised = "the window's width sets the steps of the sum, its area the division",
     .tunables = {{"WORDS", TUNABLE_DEFINE, "4 2", "words of four elements per work-item and row"},
                  {"ROWS", TUNABLE_DEFINE, "64 16 32 48 96 128 256", "rows per work-item"},
                  {"SHUFFLE", TUNABLE_DEFINE, "0 1",
                   "neighbours' pixels from the next lane instead of memory (PTX)"},
                  {"KEEP", TUNABLE_DEFINE,
                   "0 1 2", "rows in registers: read again when they leave, kept until then, or in batches"},
                  {"UNROLL", TUNABLE_DEFINE, "1 2 4", "rows per round of the loop"},
                  WORK_GROUP("64 32 128 256 512", "1 2 4")},
     .constraints = {"KW/2*C <= 4*WORDS && W*C >= 8*WORDS", "!SHUFFLE || (PTX && WG_X % 32 == 0)",
                     "!KEEP || (KH <= 16 && UNROLL == 1)", "KEEP != 2 || W*C % (4*WORDS) == 0"},
     .defines = {"KW=KW", "KH=KH", "SHIFT=POWER", "MULTIPLIER=(16777216 + AREA - 1)/AREA", "WITH_PTX=PTX",
                 "TAIL=W*C % (4*WORDS) != 0"},
     .passes = {PASS("box_packed", .extent = {"W*C", "H"}, .block = {"4*WORDS", "ROWS"},
                     .arguments = {"in", "out", "W", "H", "border"})},
     .cost = {"2*C", "C*2/WORDS/4*(1 + 2*!SHUFFLE)*(ROWS + KH)/ROWS", "C*(4 + log2(KW))"}},
    {VARIANT("sums", "sums.cl", NEEDS_LOCAL, "packed",
             "any window at nearly the same cost: column sums slide down in registers, window sums slide "
             "along rows in local memory"),
     .condition = "AREA > 1 && (FLOAT ? KW <= 32767 && KH <= 32767 : TYPE > 0 || DIV32)", .align = 16,
     .specialised = "classes of windows: sums of columns and of windows take as many bits as they need",
     .tunables = {WINDOWS_TUNABLES}, .constraints = {WINDOWS_CONSTRAINTS("KW")},
     .defines = {"COLUMN_BITS=COLUMN_BITS", "WITH_PTX=PTX", SUM_CLASSES},
     .passes = {PASS("box_sums", .extent = WINDOWS_EXTENT("KW"), .local = {"WG_X", "1"},
                     .arguments = {"in", "out", "local:" WINDOWS_LOCAL("KW"), "W", "H", "KW", "KH", "border",
                                   WINDOWS_TILE("KW"), WINDOWS_ROWS("KW"), "AREA", "DIV32 ? DM : 1",
                                   "DIV32 ? DS : 32"})},
     .cost = {"2*C*BITS/8", "C*(2 + KH/64)/WORDS/32*BITS + C*2", "C*(FLOAT ? 60 : 8 + KH/64)"}},
    {VARIANT(
         "abreast", "sums.cl", NEEDS_LOCAL, "packed",
         "integers, any window at nearly the same cost: many columns per work-item, whose sums slide down "
         "in registers; window sums slide along rows, many per work-item"),
     .condition = ABREAST_WINDOWS, .align = 32, .specialised = ABREAST_CLASSES, .options = {ABREAST_LIMITS},
     .tunables = {ABREAST_TUNABLES}, .constraints = {ABREAST_CONSTRAINTS("KW")},
     .defines = {ABREAST_DEFINES("KW"), ABREAST_LIMITED, SUM_CLASSES},
     .passes = {PASS("box_sums", .extent = ABREAST_EXTENT("KW", "TEAMS"), .local = {"WG_X", "TEAMS"},
                     .arguments = {ABREAST_ARGUMENTS})},
     .cost = {"2*C*BITS/8", "C*(2 + KH/64)/WORDS/32*BITS + C*2", "C*(8 + KH/64)"}},
    {VARIANT(
         "tall", "sums.cl", NEEDS_LOCAL, "packed",
         "the same for tall windows: their first sums are differences of sums of all that is above, from a "
         "pass before"),
     .condition = ABREAST_WINDOWS, .align = 32, .specialised = ABREAST_CLASSES,
     .tunables = {ABREAST_TUNABLES}, .constraints = {ABREAST_CONSTRAINTS("KW"), ABREAST_ABOVE_CONSTRAINT},
     .defines = {ABREAST_DEFINES("KW"), SUM_CLASSES, ABREAST_ABOVE_DEFINES},
     .scratch = {ABREAST_ABOVE_SCRATCH},
     .passes = {ABREAST_ABOVE("box_above"),
                PASS("box_sums", .extent = ABREAST_EXTENT("KW", "TEAMS"), .local = {"WG_X", "TEAMS"},
                     .arguments = {ABREAST_ARGUMENTS, ABREAST_ABOVE_ARGUMENTS})},
     .cost = {"3*C*BITS/8", "C*3/WORDS/32*BITS + C*2", "9*C"}},
    {VARIANT("pieces", "pieces.cl", NEEDS_LOCAL, "local",
             "floats, any window at nearly the same cost: column sums slide down in registers, window sums "
             "are put together from sums of pieces of rows"),
     .condition = "FLOAT && KH <= 32767", .align = 32, .tunables = {PIECES_TUNABLES},
     .constraints = {PIECES_CONSTRAINTS}, .defines = {"IN_PLACE=" PIECES_IN_PLACE, "WITH_PTX=PTX"},
     .passes = {PASS("box_pieces", .extent = ABREAST_EXTENT("KW", "1"), .local = {"WG_X", "1"},
                     .arguments = {PIECES_ARGUMENTS})},
     .cost = {"8*C", "C*(4 + KH/64)", "C*(30 + KH/64)"}},
    {VARIANT(
         "tall_pieces", "pieces.cl", NEEDS_LOCAL, "local",
         "the same for tall windows: their first sums come from sums of bands of rows, from a pass before"),
     .condition = "FLOAT && KH <= 32767", .align = 32, .tunables = {PIECES_TUNABLES},
     .constraints = {PIECES_CONSTRAINTS},
     .defines = {"IN_PLACE=" PIECES_IN_PLACE, "WITH_PTX=PTX", "TALL=1", "BAND=" PIECES_BAND,
                 "BANDS=" PIECES_BANDS, "BANDS_GROUP=" PIECES_GROUP},
     .scratch = {{.bytes = "max(H/" PIECES_BAND ", 1)*" PIECES_STRIDE "*16"}},
     .passes = {PASS("box_pieces_above",
                     .extent = {PIECES_STRIDE "/128*" PIECES_GROUP,
                                "max(ceildiv(H/" PIECES_BAND ", " PIECES_BANDS "), 1)"},
                     .local = {PIECES_GROUP, "1"},
                     .arguments = {"in", "tmp0", PIECES_STRIDE, "H/" PIECES_BAND, "W*C",
                                   "local:" PIECES_GROUP "*48"}),
                PASS("box_pieces", .extent = ABREAST_EXTENT("KW", "1"), .local = {"WG_X", "1"},
                     .arguments = {PIECES_ARGUMENTS, "tmp0", PIECES_STRIDE, PIECES_BAND})},
     .cost = {"9*C", "C*5", "32*C"}},
    {VARIANT("running", NULL, NEEDS_LOCAL, "local",
             "integers, any window at the same cost: running sums down, prefix sums across, differences"),
     .condition = "!FLOAT",
     .tunables = {{"ROWS", TUNABLE_DEFINE, "64 16 32 128 256 1024", "rows of a strip in the first pass"},
                  {"GROUP", TUNABLE_DEFINE, "64 16 128 256", "work-items that scan a row"},
                  {"WG_X", TUNABLE_LAUNCH, "64 16 32 128 256", "work-group width of the other passes"}},
     .defines = {SUM64}, .scratch = {{.bytes = "(W + KW - 1)*H*C*" SUM_SIZE}},
     .passes = {PASS("box_run_columns", .extent = {"(W + KW - 1)*C", "H"}, .block = {NULL, "ROWS"},
                     .arguments = {"in", "tmp0", "W", "H", "KW", "KH", "border"}),
                PASS("box_scan_rows", .extent = {"GROUP", "H"}, .local = {"GROUP", "1"},
                     .arguments = {"tmp0", "local:GROUP*" SUM_SIZE, "W", "KW"}),
                PASS("box_differences", .extent = {"W*C", "H"},
                     .arguments = {"tmp0", "in", "out", "W", "H", "KW", "KH"})},
     .cost = {"3*C*BITS/8 + 4*C*" SUM_SIZE, "C*(5 + KH/ROWS)", "C*(12 + KH/ROWS)"}},
    {VARIANT("blocks", NULL, NEEDS_LOCAL, "local",
             "floats, any window at the same cost: sums over blocks as long as the window, never subtracted"),
     .condition = "FLOAT",
     .tunables = {{"WG_X", TUNABLE_LAUNCH, "64 16 32 128 256", "work-group width"},
                  {"GROUP", TUNABLE_LAUNCH, "64 1 16 32 128", "work-items that scan a block of a row"}},
     .scratch = {{.bytes = "W*(H + KH - 1)*C*4"},
                 {.bytes = "W*(H + KH - 1)*C*4"},
                 {.bytes = "(W + KW - 1)*H*C*4"},
                 {.bytes = "(W + KW - 1)*H*C*4"}},
     .passes = {PASS("box_block_columns", .extent = {"W*C", "H + KH - 1"}, .block = {NULL, "KH"},
                     .arguments = {"in", "tmp0", "tmp1", "W", "H", "KH", "border"}),
                PASS("box_block_rows", .extent = {"(W + 2*KW - 2)/KW*C*GROUP", "H"}, .local = {"GROUP", "1"},
                     .arguments = {"tmp0", "tmp1", "tmp2", "tmp3", "local:GROUP*40", "W", "H", "KW", "KH",
                                   "border"}),
                PASS("box_block_join", .extent = {"W*C", "H"},
                     .arguments = {"tmp2", "tmp3", "in", "out", "W", "H", "KW", "KH"})},
     .cost = {"40*C", "8*C", "7*C"}},
    {VARIANT("bands", "cpu.cl", NEEDS_WIDE, "wide",
             "CPU: bands of rows, sums that slide down and along in 64-byte vectors, any window at the same "
             "cost"),
     .general = true, .condition = "(DIV32 || WRAPPED32) && !FLOAT",
     .specialised =
         "classes of windows: sums of 16 bits where they fit, or wrap around, else of 32, and sums "
         "of columns likewise; u8 sums that floats hold are divided as such",
     .tunables = {{"ROWS", TUNABLE_LAUNCH, "64 16 32 48 96 128 256 512 1024 4096", "most rows of a band"},
                  {"WG_X", TUNABLE_LAUNCH, "1 2 4", "bands per work-group"}},
     .defines = {"SUM_BITS=DIV16 || WRAPPED ? 16 : 32", "COLUMN_BITS=COLUMN_BITS", "FLOAT_MEANS=FLOAT_MEANS",
                 "WRAPPED=WRAPPED || WRAPPED32"},
     .scratch = {{.bytes = SLIDES_SCRATCH("KW", "KH")},
                 {.bytes = "WRAPPED || WRAPPED32 ? ceildiv(H, " BANDS_ROWS("KH") ")*(W*C + 64)*BITS/8 : 1"}},
     .passes = {PASS("box_bands", .extent = {"H"}, .block = {BANDS_ROWS("KH")},
                     .arguments = {"in", "out", "W", "H", "KW", "KH", "border", BANDS_HALF,
                                   "DIV16 || WRAPPED ? DM16 : AREA == 1 ? 4294967295 : DM",
                                   "DIV16 || WRAPPED ? DS16 : AREA == 1 ? 32 : DS", "float:inverse",
                                   BANDS_ROWS("KH"), "tmp0", SLIDES_LINE("KW"), "tmp1"})},
     .cost = {"2*C*BITS/8", "C*(2 + KH/ROWS)", "C*(9 + KH/ROWS)"}},
    {VARIANT(
         "changes", "changes.cl", NEEDS_WIDE, "wide",
         "CPU: u8 whose sums need 32 bits: bands of rows, what sums change by from row to row in 16 bits, "
         "any window at the same cost"),
     .condition = CHANGES,
     .tunables = {{"ROWS", TUNABLE_LAUNCH, "1024 64 128 256 512 4096", "most rows of a band"},
                  {"WG_X", TUNABLE_LAUNCH, "1 2 4", "bands per work-group"}},
     .scratch = {{.bytes = CHANGES_BANDS "*" CHANGES_PITCH "*4"},
                 {.bytes = CHANGES_BANDS "*" CHANGES_PITCH "*4"},
                 {.bytes = CHANGES_BANDS "*" CHANGES_LINE "*2"},
                 {.bytes = CHANGES_BANDS "*" CHANGES_PITCH},
                 {.bytes = CHANGES_BANDS "*" CHANGES_PITCH}},
     .passes = {PASS("box_changes", .extent = {"H"}, .block = {BANDS_ROWS("KH")},
                     .arguments = {"in", "out", "W", "H", "KW", "KH", "border", "float:reciprocal",
                                   BANDS_ROWS("KH"), "tmp0", "tmp1", "tmp2", CHANGES_LINE, "tmp3", "tmp4",
                                   CHANGES_PITCH})},
     .cost = {"2*C", "C*(4 + KH/ROWS)", "C*(8 + KH/ROWS)"}},
    {VARIANT("doubles", "doubles.cl", NEEDS_WIDE | NEEDS_DOUBLE, "wide",
             "CPU: floats, and integers whose sums take more than 32 bits: bands of rows, running sums of "
             "doubles in vectors, any window at the same cost"),
     .condition = "(FLOAT || !DIV32) && AREA > 1 && AREA < 67108864",
     .tunables = {{"ROWS", TUNABLE_LAUNCH, "64 16 32 96 128 256 512 1024 4096", "most rows of a band"},
                  {"WG_X", TUNABLE_LAUNCH, "1 2 4", "bands per work-group"}},
     .scratch = {{.bytes = "ceildiv(H, " BANDS_ROWS("KH") ")*" DOUBLES_LINE "*8"}},
     .passes = {PASS(
         "box_doubles", .extent = {"H"}, .block = {BANDS_ROWS("KH")},
         .arguments = {"in", "out", "W", "H", "KW", "KH", "border", BANDS_ROWS("KH"), "tmp0", DOUBLES_LINE})},
     .cost = {"2*C*BITS/8", "C*(3 + KH/ROWS)", "C*(6 + KH/ROWS)"}},
    {VARIANT("lines", "lines.cl", NEEDS_WIDE, "wide",
             "CPU: blocks whose column sums stay in the first cache, window sums in a logarithmic number "
             "of steps"),
     .condition = "TYPE == 0 && DIV16 && (KW - 1)*C <= 31 && C != 4",
     .specialised = "the window's sides set the steps of the sum, its area the division",
     .tunables = {{"BLOCK", TUNABLE_DEFINE, "2048 512 1024 4096", "pixels across a block"},
                  {"ROWS", TUNABLE_LAUNCH, "256 32 64 128 512", "most rows of a block"},
                  {"WG_X", TUNABLE_LAUNCH, "1 2", "blocks per work-group"}},
     .defines = {"KW=KW", "KH=KH", "MULTIPLIER=POWER >= 0 ? 32768 : DM16",
                 "SHIFT=POWER >= 0 ? POWER + 15 : DS16"},
     .passes = {PASS("box_lines", .extent = {"W", "H"}, .block = {"BLOCK", BANDS_ROWS("KH")},
                     .arguments = {"in", "out", "W", "H", "border", BANDS_ROWS("KH")})},
     .cost = {"2*C", "C*(2 + KH/ROWS)", "C*(4 + log2(KW) + KH/ROWS)"}},
    {VARIANT("single", "single.cl", NEEDS_WIDE, "wide", "CPU: windows of one pixel: rows copied"),
     .condition = "AREA == 1",
     .tunables = {{"ROWS", TUNABLE_DEFINE, "16 1 64", "rows per work-item"},
                  {"STREAM", TUNABLE_DEFINE, "1 0", "results go past the caches"}},
     .passes = {PASS("box_single", .extent = {"H"}, .block = {"ROWS"}, .local = {"1"},
                     .arguments = {"in", "out", "W*C", "H"})},
     .cost = {"2*C*BITS/8", "C*BITS/256", "0"}},
};

/* Integers on NVIDIA's GPUs; the bytes that a row of a window holds, which a work-group's columns must
 * exceed; images that fill a GPU. */
#define ABREAST    "PTX && !FLOAT && AREA > 1"
#define SPAN       "KW*C*BITS/8"
#define LARGE      "(W*H >= 4000000)"
#define TALLER     "W*H >= 1500000 && KH > (C == 1 ? 180 : 150)"
#define VERY_LARGE "(W*H >= 16000000)"
#define ONE_COLUMN "PTX && FLOAT && KW == 1 && KH > 8"
/* What `packed` is as fast with: small windows, and rows of a width that its batches take. */
#define SMALL                                                                                                \
    "(TYPE == 0 && W*C % 16 == 0 && KH <= 16 && (C == 1 ? AREA <= 100 : KW*C <= (C == 4 ? 33 : C == 3 ? 12 " \
    ": 24)))"

static const struct seed seeds[] = {
    {"WIDE && AREA == 1 && W*H*C*BITS/8 <= 20971520", "single", "STREAM=0"},
    {"WIDE && AREA == 1", "single", "STREAM=1"},
    {"WIDE && !WRAPPED32 && KH <= 64", "doubles", "ROWS=128"},
    {"WIDE && !WRAPPED32", "doubles", "ROWS=512"},
    {"WIDE && KH <= 32 && W > 2048 && W <= 4096", "lines", "BLOCK=4096 ROWS=128"},
    {"WIDE && KH <= 32", "lines", ""},
    {"WIDE && KH <= 256", "lines", "ROWS=512 BLOCK=512"},
    {"WIDE && COLUMN_BITS == 16 && C == 1 && W <= 4500", "changes", ""},
    {"WIDE && COLUMN_BITS == 32 && (C <= 2 || W*C > 6000)", "changes", ""},
    {"WIDE && KH <= 64", "bands", "ROWS=128"},
    {"WIDE && KH <= 512", "bands", "ROWS=512"},
    {"WIDE", "bands", "ROWS=4096"},
    {ABREAST " && " TALLER " && TYPE == 0 && C == 1 && " SPAN " <= 1000", "tall",
     "BATCH=2 AT_ONCE=2 GROUPS=2 WG_X=256"},
    {ABREAST " && " TALLER " && TYPE == 0 && " SPAN " <= 1000", "tall", "BATCH=2 GROUPS=2 WG_X=256"},
    {ABREAST " && " TALLER " && TYPE == 0 && C > 2", "tall", "WORDS=8 BATCH=1 GROUPS=1 WG_X=512"},
    {ABREAST " && " TALLER " && TYPE > 0 && C == 1 && (" VERY_LARGE " || " SPAN " <= 512)", "tall",
     "WORDS=8 BATCH=1 GROUPS=4 WG_X=128"},
    {ABREAST " && " TALLER " && " SPAN " <= (TYPE == 0 ? 3072 : 2048)", "tall",
     "WORDS=8 BATCH=1 GROUPS=2 WG_X=256"},
    {ABREAST " && " TALLER, "tall", "WORDS=8 BATCH=1 GROUPS=1 WG_X=512"},
    {ABREAST " && " LARGE " && !" SMALL " && C == 1 && " SPAN " <= 64", "abreast", "AT_ONCE=2 GROUPS=12"},
    {ABREAST " && " LARGE " && !" SMALL " && " SPAN " <= (C == 3 ? 40 : 64)", "abreast", "GROUPS=16"},
    {ABREAST " && " LARGE " && !" VERY_LARGE " && TYPE == 0 && C == 1 && KW <= 256 && KH > 80 && KH <= 150",
     "abreast", "BATCH=2 AT_ONCE=2 TEAMS=4 GROUPS=2 WG_X=64"},
    {ABREAST " && " VERY_LARGE " && TYPE == 0 && C == 1 && KW <= 256 && KH > 80 && KH <= 150", "abreast",
     "AT_ONCE=2 TEAMS=2 GROUPS=2 WG_X=128"},
    {ABREAST " && " LARGE " && !" VERY_LARGE " && TYPE > 0 && C == 1 && KW <= 256 && KH > 80 && KH <= 150",
     "abreast", "BATCH=2 AT_ONCE=2 TEAMS=4 GROUPS=1 WG_X=128"},
    {ABREAST " && " LARGE " && !" SMALL " && C == 1 && " SPAN " <= 256", "abreast",
     "AT_ONCE=2 GROUPS=4 WG_X=128"},
    {ABREAST " && " VERY_LARGE " && TYPE == 0 && C == 4 && " SPAN " > 64 && " SPAN " <= 256", "abreast",
     "BATCH=2 AT_ONCE=2 GROUPS=4 WG_X=128"},
    {ABREAST " && " LARGE " && TYPE == 1 && C == 4 && " SPAN " > 100 && " SPAN " <= 256", "abreast",
     "WORDS=8 BATCH=1 GROUPS=4 WG_X=128"},
    {ABREAST " && " LARGE " && C >= 3 && " SPAN " > (TYPE == 0 && C == 4 ? 64 : 100) && " SPAN " <= 256",
     "abreast", "WORDS=8 BATCH=2 GROUPS=6 WG_X=64"},
    {ABREAST " && " LARGE " && !" SMALL " && " SPAN " <= 256", "abreast", "GROUPS=4 WG_X=128"},
    {ABREAST " && (C == 4 || C == 3 && " LARGE ") && (TYPE > 0 || " VERY_LARGE ") && " SPAN " > 256 && " SPAN
             " <= 1024",
     "abreast", "WORDS=8 BATCH=2 GROUPS=3 WG_X=128"},
    {ABREAST " && " SPAN " > 2048", "abreast", "WORDS=8 BATCH=1 GROUPS=2 WG_X=256"},
    {ABREAST " && " SPAN " > 256", "abreast", "GROUPS=2 WG_X=256"},
    {ABREAST " && " SPAN " > 1024", "abreast", "BATCH=2 GROUPS=2 WG_X=256"},
    {ABREAST " && " SPAN " > 256", "abreast", "GROUPS=4 WG_X=128"},
    {ABREAST " && !" SMALL " && " SPAN " <= 128", "abreast", "GROUPS=16"},
    {ABREAST " && !" SMALL, "abreast", "GROUPS=4 WG_X=128"},
    {ONE_COLUMN " && " TALLER, "tall_pieces", "RUN=1 BATCH=2 WG_X=128 GROUPS=6"},
    {ONE_COLUMN " && KH <= 64 && (C == 4 || " VERY_LARGE ")", "pieces", "RUN=1 BATCH=8 WG_X=128 GROUPS=24"},
    {ONE_COLUMN " && KH <= 64 && C > 1", "pieces", "RUN=1 BATCH=8 WG_X=128 GROUPS=12"},
    {ONE_COLUMN " && (C > 1 || " VERY_LARGE ")", "pieces", "RUN=1 BATCH=8 WG_X=128 GROUPS=6"},
    {ONE_COLUMN " && KH <= 64 && " LARGE, "pieces", "RUN=1 BATCH=8 WG_X=64 GROUPS=6"},
    {ONE_COLUMN, "pieces", "RUN=1 WG_X=64 GROUPS=6"},
    {"PTX && FLOAT && " TALLER " && KW >= 16 && KW*C <= 900", "tall_pieces",
     "WORDS=8 BATCH=2 RUN=16 GROUPS=2 WG_X=256"},
    {"PTX && FLOAT && " TALLER " && KW >= 16", "tall_pieces", "WORDS=8 BATCH=2 RUN=16 GROUPS=1 WG_X=512"},
    {"PTX && FLOAT && KW >= 16 && KW*C <= 160", "pieces", "RUN=16"},
    {"PTX && FLOAT && " LARGE " && C > 2 && KW >= 16 && KW*C <= 900", "pieces",
     "WORDS=8 BATCH=2 RUN=16 GROUPS=2 WG_X=256"},
    {"PTX && FLOAT && KW >= 16", "pieces", "RUN=16 WG_X=256 GROUPS=3"},
    {"PTX && FLOAT && KW >= 8 && (" LARGE " || C > 1 || KH > 16)", "pieces", "BATCH=2 GROUPS=12 WG_X=64"},
    {"PTX && FLOAT && KW >= 4 && KH > 16", "pieces", "RUN=4"},
    {"PTX && FLOAT && KW >= 2 && KH > 16", "pieces", "RUN=2 GROUPS=12 WG_X=64"},
    {"PTX && TYPE == 0 && AREA > 256 && C == 3", "sums", "SHUFFLE=1 PX=24 BATCH=8 GROUPS=8"},
    {"PTX && TYPE == 0 && AREA > 256 && C == 3", "sums", "SHUFFLE=1 PX=24 WG_X=128 WORDS=2 BATCH=4 GROUPS=8"},
    {"PTX && TYPE == 0 && AREA > 256 && C == 4 && KW > 48", "sums",
     "SHUFFLE=1 PX=32 WG_X=128 WORDS=2 BATCH=4 GROUPS=8"},
    {"PTX && TYPE == 0 && AREA > 256 && C == 4", "sums", "SHUFFLE=1 PX=32 WG_X=128 BATCH=4 GROUPS=16"},
    {"PTX && TYPE == 0 && AREA > 256", "sums", "SHUFFLE=1 PX=16 WG_X=128 BATCH=4 GROUPS=16"},
    {"PTX && TYPE == 0 && AREA > 256", "sums", "SHUFFLE=1 PX=16 WG_X=64 WORDS=4 BATCH=2 GROUPS=16"},
    {"PTX && TYPE > 0 && (AREA > 64 || KH > 16) && C == 3", "sums",
     "SHUFFLE=1 PX=12 WG_X=128 WORDS=2 BATCH=4 GROUPS=16"},
    {"PTX && FLOAT && (AREA > 64 || KH > 16) && C == 4", "sums",
     "SHUFFLE=1 PX=8 WG_X=128 WORDS=4 BATCH=4 GROUPS=8"},
    {"PTX && TYPE > 0 && (AREA > 64 || KH > 16)", "sums",
     "SHUFFLE=1 PX=8 WG_X=128 WORDS=2 BATCH=4 GROUPS=16"},
    {"PTX && KH <= 16 && W*H*C >= 33554432 && C == 1 && BORDER >= 1 && BORDER <= 3", "packed",
     "KEEP=2 SHUFFLE=0 ROWS=16 WG_X=64 WG_Y=1"},
    {"PTX && KH <= 16 && W*H*C >= 33554432", "packed", "KEEP=2 SHUFFLE=1 ROWS=16 WG_X=32 WG_Y=2"},
    {"PTX && KH <= 16", "packed", "WORDS=2 KEEP=2 ROWS=16 WG_X=32 WG_Y=2"},
    {"GPU && H >= 4096", "packed", "ROWS=64 WG_X=256"},
    {"GPU", "packed", "ROWS=16 WG_X=64"},
    {"GPU && KW*C <= 32", "strips", "PX=4 ROWS=32 WG_X=64"},
    {"CPU && KW*C <= 32", "strips", "PX=16 ROWS=128 WG_X=8"},
    {"CPU && KW*C <= 32", "strips", "PX=8 ROWS=128 WG_X=8"},
    {"KW*KH <= 9", "direct", ""},
    {"KW + KH <= 24", "separable", ""},
    {"!FLOAT", "running", ""},
    {"GPU && FLOAT && KW < 64 && C == 3", "sums", "PX=12"},
    {"GPU && FLOAT && KW < 64", "sums", ""},
    {"CPU && FLOAT", "blocks", "GROUP=1"},
    {"FLOAT", "blocks", ""},
    {NULL, "direct", ""},
};

static const struct rung rungs[] = {
    {"64", "64 reads per pixel, by image", "image_unorm", "", "guide 9.1.1, first listing"},
    {"20", "2x2 means, then 4x4 of them: 4 + 16 reads, by image", "pairs_unorm", "",
     "guide 9.1.1, second listing"},
    {"64-exact", "64 reads, by image, exact", "image", "", "guide 9.1.1, made exact"},
    {"20-exact", "4 + 16 reads, by image, exact", "pairs_image", "", "guide 9.1.1, made exact"},
    {"64-buffer", "64 reads, by buffer", "direct", "", "guide 9.1.1 without images"},
    {"20-buffer", "4 + 16 reads, by buffer", "pairs", "", "guide 9.1.1 without images"},
    {"separable", "8 + 8 reads", "separable", "", "hone"},
    {"strips-8", "running sums in strips 8 pixels wide", "strips", "PX=8", "hone"},
    {"strips-16", "running sums in strips 16 pixels wide", "strips", "PX=16", "hone"},
    {"running", "the same cost for any window", "running", "", "hone"},
    {"blocks", "the same for floats, no sum ever subtracted from another", "blocks", "", "hone"},
    {"packed", "two sums per register", "packed", "", "hone"},
    {"packed-batches", "two sums per register, rows in batches: none is read twice or kept", "packed",
     "WORDS=2 ROWS=16 KEEP=2 WG_X=32 WG_Y=4", "hone"},
    {"wide", "64-byte vectors", "bands", "", "hone"},
    {"wide-changes", "vectors, what sums change by from row to row", "changes", "", "hone"},
    {"wide-doubles", "vectors, running sums of doubles", "doubles", "", "hone"},
    {"wide-blocks", "64-byte vectors, blocks that stay in the first cache", "lines", "", "hone"},
};

/* What tests and the doctor try. */
static const char *const trials[] = {
    "",        "size=3", "width=5 height=2",    "width=1 height=4",    "size=13",
    "size=40", "size=1", "width=301 height=38", "width=37 height=301", NULL};

static const char *const usual[] = {"size=8", "size=3", "size=31", NULL};

static bool averages(const struct filter_case *c)
{
    (void)c;
    return true;
}

static const char *const ahead[] = {"size=5", "size=9", "size=15", "size=101", "size=501", NULL};

const struct hone_filter hone_filter_box = {
    FILTER("box", "mean over a window of width x height pixels", "guide 9.1.1", TYPES_ALL | TYPE_S16,
           CHANNELS_ALL, 1),
    .spatial = true, .window = {"KW/2", "KW - 1 - KW/2", "KH/2", "KH - 1 - KH/2"},
    .parameters = {NUMBER_PARAMETER("size", PARAMETER_INTEGER, "8", 1, 1 << 20, "pixels",
                                    "width and height of the window"),
                   NUMBER_PARAMETER("width", PARAMETER_INTEGER, NULL, 1, 1 << 20, "pixels",
                                    "width of the window, instead of size"),
                   NUMBER_PARAMETER("height", PARAMETER_INTEGER, NULL, 1, 1 << 20, "pixels",
                                    "height of the window, instead of size")},
    .symbols = {"KW",    "KH",      "AREA",        "FX",        "FY",          "MOST",         "POWER",
                "DIV16", "WRAPPED", "WRAPPED32",   "NEXT",      "DM16",        "DS16",         "DIV32",
                "DM",    "DS",      "COLUMN_BITS", "SUM_BYTES", "FLOAT_MEANS", ABREAST_SYMBOLS},
    .reals = {"inverse", "reciprocal"}, .prepare = prepare,
    .examples = {{"every pixel becomes the mean of 15x15", "'box size=15' photo.jpg -o soft.jpg"},
                 {"smoothed along rows alone",
                  "'box width=31 height=1 border=reflect' scan.png -o smooth.png"}},
    .averages = averages, .reference = box_reference,
    /* Integers: exact. Floats: means of up to thousands of terms, each addition rounding to half an ulp of
       the sum. */
    .bounds = {0, 0, 1e-5}, TABLES(variants, seeds, rungs), .trials = trials, .usual = usual, .ahead = ahead};
