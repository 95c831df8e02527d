/* SPDX-License-Identifier: BSD-2-Clause */
#include "filter/filter.h"
#include "filters/abreast.h"
#include "filters/slides.h"
#include "filters/windows.h"

REFERENCE(density);

/* Sums count from LEAST on. Where none reaches the threshold that is one more than the largest, which the
 * sums' type must hold, too. A sum of 0 is a result of 0, but under a threshold of 0 a mark. */
static void set_least(struct filter_case *c, int64_t threshold, int64_t largest, bool marks)
{
    int64_t least = threshold <= largest ? threshold : largest + 1;
    case_set_symbol(c, "LEAST", marks || least > 0 ? least : 1);
    case_set_symbol(c, "SUM_BITS", largest < UINT16_MAX ? 16 : 32);
}

static hone_status prepare(struct filter_case *c, hone_error *error)
{
    int64_t size = (int64_t)case_number(c, "size"), threshold = (int64_t)case_number(c, "threshold");
    int64_t most = case_number(c, "mask") != 0 ? 1 : (int64_t)type_full_scale(c->in.type);
    int64_t largest = size * size * most, fits = 1;
    while ((fits + 1) * (fits + 1) * most <= UINT32_MAX)
        fits++;
    if (largest > UINT32_MAX)
        return case_wrong(error,
                          "density: a window of %lldx%lld may sum to more than 2^32-1; "
                          "size= takes at most %lld here",
                          (long long)size, (long long)size, (long long)fits);
    bool marks = case_number(c, "output") != 0;
    c->out.type = marks ? HONE_U8 : largest <= UINT16_MAX ? HONE_U16 : HONE_U32;
    set_least(c, threshold, largest, marks);
    case_set_symbol(c, "MOST", most);
    case_set_symbol(c, "COLUMN_BITS", size * most <= UINT16_MAX ? 16 : 32);
    case_set_symbol(c, "SUM_BYTES", 4);
    set_abreast(c, size, size, most);
    return HONE_OK;
}

/* Bytes of a sum and of a result, which is a mark of u8 or a sum. */
#define SUM_SIZE    "(SUM_BITS/8)"
#define RESULT_SIZE "(OTYPE == 0 ? 1 : OTYPE == 1 ? 2 : 4)"
/* Reading the pixels once and writing the results once. */
#define IN_AND_OUT  "C*BITS/8 + C*" RESULT_SIZE

#define SUM_DEFINES "MASK=mask", "SUM_BITS=SUM_BITS"

/* The integral image: size - 1 columns and rows more than the image, and zeros in front; vectors of eight are
 * read. */
#define STRIDE "roundup((W + size)*C + 8, 8)"

/* Cells of the image as windows see it. */
#define ACROSS "ceildiv(W + size - 1, CELL)"
#define DOWN   "ceildiv(H + size - 1, CELL)"

/* Work-items of `packed` that serve each other. */
#define LANES "(SHUFFLE ? 32 : WG_X)"

#define ABREAST_CLASSES                                                                                      \
    "classes of windows: the sum of a column has 16 bits where it fits, else 32; where columns come in "     \
    "pairs, windows begin and end with one or with half of one"
#define ABREAST_ARGUMENTS                                                                                    \
    "in", "out", "local:" ABREAST_LOCAL, "W", "H", "size", "border", ABREAST_TILE("size"),                   \
        ABREAST_ROWS("size", "TEAMS"), "LEAST"

static const struct variant variants[] = {
    {VARIANT("direct", NULL, 0, "buffer", "one result per work-item, every pixel of the window read"),
     .brief = true, .tunables = {WORK_GROUP("16 8 32 64", "4 1 2 8")}, .defines = {SUM_DEFINES},
     .passes = {PASS("density_direct", .extent = {"W*C", "H"},
                     .arguments = {"in", "out", "W", "H", "size", "border", "LEAST"})},
     .cost = {IN_AND_OUT, "C*size*size", "C*size*size"}},
    {VARIANT("integral", NULL, NEEDS_LOCAL, "local",
             "the write-up's: four corners of an integral image, eight results per work-item"),
     .brief = true,
     .tunables = {{"SPLIT", TUNABLE_DEFINE, "0 1",
                   "four corners: 0 in one expression, 1 one after the other"},
                  {"WG_X", TUNABLE_LAUNCH, "64 16 32 256", "work-group width of all passes"}},
     .defines = {SUM_DEFINES}, .scratch = {{.bytes = "(H + size)*" STRIDE "*" SUM_SIZE}},
     .passes = {PASS("density_along", .extent = {"WG_X", "H + size", "C"},
                     .arguments = {"in", "tmp0", STRIDE, "local:WG_X*" SUM_SIZE, "W", "H", "size", "border"}),
                PASS("density_down", .extent = {STRIDE}, .arguments = {"tmp0", STRIDE, "H + size"}),
                PASS("density_corners", .extent = {"W*C", "H"}, .block = {"8"},
                     .arguments = {"tmp0", "in", "out", STRIDE, "W", "H", "size", "LEAST"})},
     /* The integral image is written along rows, summed down in place, and read for two rows of corners. */
     .cost = {IN_AND_OUT " + C*5*" SUM_SIZE, "C*(2 + 4/8)", "C*(2 + 2*log2(WG_X) + 4)"}},
    {VARIANT("sliding", NULL, NEEDS_LOCAL, "local",
             "one channel: sums of columns slide down in registers, local memory makes windows of them"),
     .condition = "C == 1 && size <= 128", .align = 32,
     .specialised = "the window's size says which sums of neighbours a window is made of",
     .tunables = {{"PX", TUNABLE_DEFINE, "4 8", "columns of a work-item"},
                  {"ROWS", TUNABLE_DEFINE, "64 16 256", "rows of a strip"},
                  {"WG_X", TUNABLE_LAUNCH, "128 32 64 256", "work-group width"}},
     .constraints = {"4*ceildiv(size/2, PX) <= WG_X"}, .defines = {SUM_DEFINES, "SIZE=size"},
     .passes = {PASS(
         "density_sliding",
         .extent = {"ceildiv(W, (WG_X - ceildiv(size/2, PX) - ceildiv(size - 1 - size/2, PX))*PX)*WG_X", "H"},
         .block = {NULL, "ROWS"},
         .arguments = {"in", "out", "local:8*PX*WG_X", "W", "H", "border", "LEAST"})},
     .cost = {IN_AND_OUT, "2*(1 + size/ROWS)/PX + 3 + size/PX/PX", "8 + 2*size/ROWS + size/PX/PX"}},
    {VARIANT(
         "packed", "packed.cl", NEEDS_LOCAL, "packed",
         "one channel of u8: two or four sums of columns in each register; marks of masks stay in registers"),
     .condition = "C == 1 && TYPE == 0 && size <= 65", .align = 32,
     .specialised = "the window's size says which registers it reaches into",
     .tunables = {{"WORDS", TUNABLE_DEFINE, "4 2", "words of four pixels per work-item and row"},
                  {"ROWS", TUNABLE_DEFINE, "64 16 32 96 128 192 256 272 512", "rows per work-item"},
                  {"AHEAD", TUNABLE_DEFINE, "2 1 4 8", "rows under way before they are needed"},
                  {"SHUFFLE", TUNABLE_DEFINE, "0 1", "sums from the next lane instead of local memory (PTX)"},
                  {"SWAP", TUNABLE_DEFINE, "0 1", "lanes swap halves of results, for whole sectors (PTX)"},
                  {"WG_X", TUNABLE_LAUNCH, "64 32 128 256", "work-group width"}},
     .constraints = {"2*ceildiv(size/2, 4*WORDS) < " LANES, "!SHUFFLE || (PTX && mask && WG_X % 32 == 0)",
                     "!SWAP || (SHUFFLE && OTYPE != 0 && (OTYPE != 1 || WORDS == 4))"},
     .defines = {"MASK=mask", "SIZE=size", "WITH_PTX=PTX", "TAIL=W % (4*WORDS) != 0"},
     .passes = {PASS("density_packed",
                     .extent = {"ceildiv(W, (" LANES " - 2*ceildiv(size/2, 4*WORDS))*4*WORDS)*" LANES, "H"},
                     .block = {NULL, "ROWS"},
                     .arguments = {"in", "out", "local:SHUFFLE ? 4 : (mask ? 8 : 16)*WORDS*WG_X", "W", "H",
                                   "border", "LEAST"})},
     /* Rows above a strip are read for it alone; those that leave, of masks, not again. */
     .cost = {IN_AND_OUT, "(2 - mask + size/ROWS)/WORDS/4", "12 - 4*mask + 2*size/ROWS"}},
    {VARIANT("sums", "sums.cl", NEEDS_LOCAL, "packed",
             "any window at nearly the same cost: column sums slide down in registers, window sums slide "
             "along rows in local memory"),
     .align = 32,
     .specialised = "two classes of windows: the sum of a column has 16 bits where it fits, else 32",
     .tunables = {WINDOWS_TUNABLES}, .constraints = {WINDOWS_CONSTRAINTS("size")},
     .defines = {"MASK=mask", "COLUMN_BITS=COLUMN_BITS", "WITH_PTX=PTX"},
     .passes = {PASS("density_sums", .extent = WINDOWS_EXTENT("size"), .local = {"WG_X", "1"},
                     .arguments = {"in", "out", "local:" WINDOWS_LOCAL("size"), "W", "H", "size", "border",
                                   WINDOWS_TILE("size"), WINDOWS_ROWS("size"), "LEAST"})},
     .cost = {IN_AND_OUT, "C*(2 + size/64)/WORDS/32*BITS + C*2", "C*(8 + size/64)"}},
    {VARIANT("abreast", "sums.cl", NEEDS_LOCAL, "packed",
             "any window at nearly the same cost: many columns per work-item, whose sums slide down in "
             "registers; window sums slide along rows, many per work-item"),
     .align = 32, .specialised = ABREAST_CLASSES, .options = {ABREAST_LIMITS}, .tunables = {ABREAST_TUNABLES},
     .constraints = {ABREAST_CONSTRAINTS("size")},
     .defines = {ABREAST_DEFINES("size"), ABREAST_LIMITED, "MASK=mask"},
     .passes = {PASS("density_sums", .extent = ABREAST_EXTENT("size", "TEAMS"), .local = {"WG_X", "TEAMS"},
                     .arguments = {ABREAST_ARGUMENTS})},
     .cost = {IN_AND_OUT, "C*(2 + size/64)/WORDS/32*BITS + C*2", "C*(8 + size/64)"}},
    {VARIANT(
         "tall", "sums.cl", NEEDS_LOCAL, "packed",
         "the same for tall windows: their first sums are differences of sums of all that is above, from a "
         "pass before"),
     .align = 32, .specialised = ABREAST_CLASSES, .tunables = {ABREAST_TUNABLES},
     .constraints = {ABREAST_CONSTRAINTS("size"), ABREAST_ABOVE_CONSTRAINT},
     .defines = {ABREAST_DEFINES("size"), "MASK=mask", ABREAST_ABOVE_DEFINES},
     .scratch = {ABREAST_ABOVE_SCRATCH},
     .passes = {ABREAST_ABOVE("density_above"),
                PASS("density_sums", .extent = ABREAST_EXTENT("size", "TEAMS"), .local = {"WG_X", "TEAMS"},
                     .arguments = {ABREAST_ARGUMENTS, ABREAST_ABOVE_ARGUMENTS})},
     .cost = {IN_AND_OUT " + C*BITS/8", "C*3/WORDS/32*BITS + C*2", "9*C"}},
    {VARIANT("compact", NULL, NEEDS_LOCAL, "local",
             "two phases: list the positions that may reach the threshold, then sum windows there alone"),
     .condition = "(size + 32)*(size + 32)*MOST <= 4294967295 && W*H*C < 4294967295",
     .tunables = {{"CELL", TUNABLE_DEFINE, "8 16", "side of a cell"},
                  {"WG_X", TUNABLE_LAUNCH, "64 16 32 256", "work-group width"},
                  {"GROUPS", TUNABLE_LAUNCH, "16 64", "work-groups of phase two per compute unit"}},
     .defines = {SUM_DEFINES}, .scratch = {{.bytes = ACROSS "*" DOWN "*C*4"}, {.bytes = "(W*H*C + 1)*4"}},
     .passes = {PASS("density_cells", .extent = {ACROSS "*C", DOWN},
                     .arguments = {"in", "tmp0", "tmp1", "W", "H", "size", "border", ACROSS, DOWN}),
                PASS(
                    "density_list", .extent = {"W*C", "H"},
                    .arguments = {"tmp0", "in", "out", "tmp1", "local:8", "W", "H", "size", "LEAST", ACROSS}),
                PASS("density_listed", .extent = {"CU*GROUPS*WG_X"},
                     .arguments = {"tmp1", "in", "out", "W", "H", "size", "border", "LEAST"})},
     /* Where one position in a hundred is listed. */
     .cost = {IN_AND_OUT " + C*BITS/8", "C*(1 + (size/CELL + 1)*(size/CELL + 1) + size*size/100)",
              "C*(1 + (size/CELL + 1)*(size/CELL + 1) + size*size/100)"}},
    {VARIANT("bands", "cpu.cl", NEEDS_WIDE, "wide",
             "CPU: bands of rows, sums that slide down and along in 64-byte vectors"),
     .specialised = "two classes of windows: the sum of a column has 16 bits where it fits, else 32",
     .tunables = {{"ROWS", TUNABLE_LAUNCH, "256 32 128 512 1024", "most rows of a band"},
                  {"WG_X", TUNABLE_LAUNCH, "1 2", "bands per work-group"}},
     .defines = {SUM_DEFINES, "COLUMN_BITS=COLUMN_BITS"},
     .scratch = {{.bytes = SLIDES_SCRATCH("size", "size")}},
     .passes = {PASS("density_bands", .extent = {"H"}, .block = {BANDS_ROWS("size")},
                     .arguments = {"in", "out", "W", "H", "size", "border", "LEAST", BANDS_ROWS("size"),
                                   "tmp0", SLIDES_LINE("size")})},
     .cost = {IN_AND_OUT, "C*(2 + size/ROWS)", "C*(10 + size/ROWS)"}},
};

/* What `packed` does not take, or is slow at (border=reflect101); the bytes that a row of a window holds. */
#define ABREAST "PTX && (TYPE > 0 || C > 1 || size > 65 || (BORDER == 2 && !mask))"
#define SPAN    "size*C*BITS/8"

static const struct seed seeds[] = {
    {"WIDE && size <= 64", "bands", "ROWS=256"},
    {"WIDE", "bands", "ROWS=1024"},
    {ABREAST " && TYPE == 0 && C == 1 && size > 65 && size <= 150", "abreast", "GROUPS=8"},
    {ABREAST " && " SPAN " <= 128", "abreast", "GROUPS=16"},
    {ABREAST " && W*H >= 1500000 && size > 150 && " SPAN " <= 2048", "tall", "BATCH=2 GROUPS=2 WG_X=256"},
    {ABREAST " && " SPAN " <= 512", "abreast", "GROUPS=4 WG_X=128"},
    {ABREAST, "abreast", "GROUPS=2 WG_X=256"},
    {ABREAST, "abreast", "WORDS=8 BATCH=1 GROUPS=2 WG_X=256"},
    {"PTX && mask && output && W*H >= 100000000", "packed", "ROWS=256 AHEAD=4 SHUFFLE=1"},
    {"PTX && mask && W*H >= 100000000", "packed", "ROWS=256 AHEAD=4 SHUFFLE=1 SWAP=1"},
    {"PTX && mask", "packed", "WORDS=2 ROWS=16 AHEAD=8 SHUFFLE=1 WG_X=32"},
    {"PTX && output && W*H >= 100000000", "packed", "ROWS=272 AHEAD=2"},
    {"PTX", "packed", "WORDS=2 ROWS=16 AHEAD=4 WG_X=32"},
    {"GPU && C == 1 && size <= 128 && H >= 4096", "sliding", "PX=8 ROWS=256 WG_X=256"},
    {"GPU && C == 1 && size <= 128", "sliding", "PX=8 ROWS=16 WG_X=64"},
    {"size <= 5", "direct", ""},
    {NULL, "integral", ""},
    {NULL, "direct", ""},
};

static const struct rung rungs[] = {
    {"expression", "vload8 of four corners in one expression", "integral", "SPLIT=0",
     "Chinese write-up on the density filter, an AMD GPU"},
    {"split", "one vload8 after the other into the same variable", "integral", "SPLIT=1",
     "Chinese write-up on the density filter, an AMD GPU"},
    {"direct", "no integral image: every pixel of every window", "direct", "", "hone"},
    {"two-phase", "positions that may reach the threshold are listed, then summed", "compact", "",
     "guide 6.6.3, applied to this filter"},
    {"sliding", "no integral image: sliding sums in registers and local memory", "sliding", "", "hone"},
    {"packed", "no integral image: two or four sliding sums in every register, lanes share them", "packed",
     "", "hone"},
    {"wide", "no integral image: sliding sums in 64-byte vectors", "bands", "", "hone"},
};

/* What tests and the doctor try: sums of 16 and of 32 bits, pixels and masks, thresholds inside and beyond
 * reach; marks where 0, which any sum reaches, tells them from sums. Sums of 65535, of one pixel, are the
 * largest beside 16 bits. */
static const char *const trials[] = {"size=5 threshold=2400",
                                     "size=18 threshold=20000",
                                     "size=33 mask=yes threshold=1000",
                                     "size=31 mask=yes output=marks threshold=957",
                                     "size=18 output=marks threshold=10600000",
                                     "size=9 output=marks threshold=0",
                                     "size=12 output=marks threshold=18400",
                                     "size=1 output=marks threshold=65536",
                                     "size=6 mask=yes output=marks threshold=0",
                                     "size=6 mask=yes output=marks threshold=37",
                                     NULL};

static const char *const usual[] = {"mask=yes", "", NULL};

const struct hone_filter hone_filter_density = {
    FILTER("density", "sum over a square window (or a mark) where it reaches a threshold, else 0",
           "Chinese write-up on registers and vload8 (object density filter)", TYPE_U8 | TYPE_U16,
           CHANNELS_ALL, 1),
    .spatial = true, .window = {"size/2", "size - 1 - size/2", "size/2", "size - 1 - size/2"},
    .parameters = {NUMBER_PARAMETER("size", PARAMETER_INTEGER, "31", 1, 65535, "pixels",
                                    "width and height of the window"),
                   NUMBER_PARAMETER("threshold", PARAMETER_INTEGER, "1", 0, 4294967295.0, NULL,
                                    "smaller sums become 0; sums are of levels of the input's format, or of "
                                    "pixels with mask=yes",
                                    .incidental = true, .sums_under = "mask"),
                   CHOICE_PARAMETER("mask", "no", "no|yes", "yes: every non-zero pixel counts as 1"),
                   CHOICE_PARAMETER("output", "sums", "sums|marks",
                                    "sums: u16 or u32; marks: u8, 255 where a sum reaches the threshold")},
    .symbols = {"LEAST", "MOST", "SUM_BITS", "COLUMN_BITS", "SUM_BYTES", ABREAST_SYMBOLS}, .prepare = prepare,
    .examples = {{"marks where at least 200 of 31x31 pixels are not black",
                  "'density mask=yes threshold=200 output=marks' objects.png -o crowded.png"},
                 {"sums of 9x9 pixels", "'density size=9' gray.png -o sums.tif"}},
    .reference = density_reference,
    /* Sums of integers: exact. */
    .bounds = {0, 0, 0}, TABLES(variants, seeds, rungs), .trials = trials, .usual = usual};
