/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What a filter is: data that describes it, and three small functions of plain C.
 *
 * A filter's folder holds one `const struct hone_filter hone_filter_NAME`, its kernels and its reference.
 * Everything else (argument checking, help, launching, tests, tuning, benchmarks, documentation) iterates
 * this description and names no filter. This header is all of hone that a filter may include, beside image/
 * and its own folder.
 *
 * Expressions (base/expr.h) may use these names:
 *   W H           size of the result             IW IH   size of the input
 *   C             channels                        TYPE    of the input: 0 u8, 1 u16, 2 f32, 3 s16
 *   OTYPE         of the result (hone_type)       FLOAT   1 for f32 input
 *   BITS          of an input element: 8, 16, 32  BORDER  hone_border
 *   EXACT         1 under exact=yes
 *   every integer and choice parameter by its name with '-' as '_' (a choice is the index into its list);
 *   the filter's own symbols; in a variant, its tunables; and of the device:
 *   CPU GPU       kind                            CU      compute units
 *   MAXWG LMEM    largest work-group, local bytes VENDOR  PCI vendor number
 *   WARP          warp or wavefront width, or 0   UNIFIED 1 when it shares memory with the host
 *   IMAGES HALF WIDE PTX SUBGROUPS   1 where the self-test found the feature to work
 *   SM            compute capability times ten of NVIDIA devices whose inline assembly works, else 0
 */
#pragma once

#include "base/mem.h" /* COUNT_OF */
#include "hone/pixels.h"
#include "image/view.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MAX_PARAMETERS = 12,
    MAX_SYMBOLS = 24,
    MAX_REALS = 8,
    MAX_TUNABLES = 12,
    MAX_PASSES = 6,
    MAX_SCRATCH = 6,
    MAX_ARGUMENTS = 24,
    MAX_DEFINES = 16,
    MAX_OPTIONS = 4,
    MAX_FUSED = 4,
    MAX_POINT_ARGUMENTS = 4,
    MAX_EXAMPLES = 2
};

struct hone_filter;

/* ---- Parameters ---- */

enum parameter_kind {
    PARAMETER_INTEGER,
    PARAMETER_REAL,
    PARAMETER_CHOICE,
    PARAMETER_TEXT, /* understood by the filter's prepare() */
    PARAMETER_IMAGE /* names the second input */
};

struct parameter {
    const char *name, *help, *unit; /* unit: "pixels", "levels", or NULL */
    enum parameter_kind kind;
    const char *fallback; /* default as text; NULL: none (the value's `given` tells) */
    double min, max;      /* both allowed; integers and reals */
    const char *choices;  /* "l2|l1" */
    double f32_full;      /* of "levels": what 100 % are for f32; 0: 1 */
    /* its value says little of which variant is fast: what was tuned with one serves others */
    bool incidental;
    /* of one that counts sums of levels: the choice parameter whose first value makes it do so; else NULL */
    const char *sums_under;
};

/* "Levels" may be written as "8%" of the format's full range. */
struct share {
    bool given;
    double percent;
};

struct value {
    double number; /* integer, real, or index of the choice; of a share, once the format is known */
    struct share share;
    const char *text; /* as written; owned by the case */
    bool given;       /* false: the default */
};

/* ---- One use of a filter: parameters, formats, and what follows from them ---- */

struct filter_case {
    const struct hone_filter *filter;
    struct value values[MAX_PARAMETERS]; /* in the order of filter->parameters */
    hone_border border;
    double border_value; /* in units of the format */
    struct share border_share;
    char border_text[32]; /* as a chain writes it; "": none was set */
    bool relaxed;         /* accuracy=relaxed */
    bool filter_alpha;    /* alpha=filter */
    bool alpha_given;     /* the chain says alpha= */
    bool exact;           /* exact=yes */
    hone_image_desc in, second, out;
    int64_t symbols[MAX_SYMBOLS]; /* in the order of filter->symbols */
    double reals[MAX_REALS];      /* in the order of filter->reals */
    void *data;                   /* whatever prepare() made of a text; freed with free() */
    /* A result of f32 is at most gain * (largest input) + bias: the unit of bounds. 1 and 0 unless prepare()
     * knows better. */
    double gain, bias;
    /* Point filters that run in the same kernel: the first `before` on the input, in their order, the others
     * on the result. Owned; see case_fuse(). */
    struct filter_case *fused[MAX_FUSED];
    unsigned before, fused_count;
};

/* ---- Variants ---- */

/* What a variant needs of a device. Probed by the self-test, never assumed from a vendor's name; but for
 * doubles, which compilers take where the driver lists them. */
enum need {
    NEEDS_IMAGES = 1 << 0,
    NEEDS_HALF = 1 << 1,
    NEEDS_WIDE = 1 << 2, /* clang's vectors of 64 bytes */
    NEEDS_PTX = 1 << 3,
    NEEDS_SUBGROUPS = 1 << 4,
    NEEDS_LOCAL = 1 << 5,
    NEEDS_PROGRESS = 1 << 6, /* work-groups that wait for earlier ones */
    NEEDS_DOUBLE = 1 << 7
};

/* What a one-pass variant's kernel lets run with it: it reads by source_get, or writes by sink_put
 * (fuse.clh). */
enum fuse { FUSES_BEFORE = 1 << 0, FUSES_AFTER = 1 << 1 };

/* A number that changes speed only. */
enum tunable_kind {
    TUNABLE_DEFINE, /* compiled in as -DNAME=value */
    TUNABLE_BUILD,  /* chooses among the variant's options for the compiler */
    TUNABLE_LAUNCH  /* used in the launch geometry alone: changing it compiles nothing */
};

struct tunable {
    const char *name;
    enum tunable_kind kind;
    const char *values; /* legal ones, separated by spaces; the first is the default */
    const char *help;
};

/* The work-group of two-dimensional launches: legal widths and heights. */
#define WORK_GROUP(across, down)                                                                             \
    {"WG_X", TUNABLE_LAUNCH, across, "work-group width"},                                                    \
    {                                                                                                        \
        "WG_Y", TUNABLE_LAUNCH, down, "work-group height"                                                    \
    }

/* Bands of rows, such that there are at most so many work-groups in all, `across` of them side by side. */
#define BANDS_OF_GROUPS(groups, across) "max(" groups "/(" across "), 1)"

/* The most registers of a work-item on NVIDIA's GPUs, and the compiler's options for it: with fewer, more
 * warps run at once, until registers are spilled to memory. Such a variant has the constraint, too, and its
 * kernels say their size by GROUP_SIZE() (kernel.clh). */
#define REGISTERS                                                                                            \
    {                                                                                                        \
        "REGISTERS", TUNABLE_DEFINE, "0 96 128 168",                                                         \
            "most registers of a work-item on NVIDIA's GPUs; 0: as many as the compiler takes"               \
    }
#define REGISTERS_OPTIONS                                                                                    \
    {"-cl-nv-maxrregcount=96", "REGISTERS == 96"}, {"-cl-nv-maxrregcount=128", "REGISTERS == 128"},          \
    {                                                                                                        \
        "-cl-nv-maxrregcount=168", "REGISTERS == 168"                                                        \
    }
#define REGISTERS_CONSTRAINT "REGISTERS == 0 || PTX"

/**
 * One kernel launch. The work-items cover `extent` pixels, each one a block of `block`; the global size is
 * rounded up to the work-group `local`. Arguments, in the kernel's order:
 *
 *   in, second, out        three arguments: __global pointer, int offset and int pitch (both in elements)
 *   in:uint, second:uint   the pixels as an image2d_t for read_imageui, or read_imagef for f32
 *                          (1, 2 or 4 channels)
 *   in:unorm               the same, read as 0..1
 *   in:packed              four pixels of one channel as one RGBA pixel, read as 0..1; only if W is a
 *                          multiple of 4
 *   out:uint, out:unorm    an image2d_t to write, copied to the result afterwards
 *   tmp0 ... tmp5          the scratch buffer, or the scratch image
 *   sampler                nearest, integer coordinates, clamped to the edge (under border=constant: 0
 *                          outside)
 *   border                 the border value: int, or float for f32
 *   table0:BYTES           a __constant or __global const pointer to what the filter's table() fills
 *   local:BYTES            a __local pointer
 *   float:NAME             a real parameter, or one of the filter's reals
 *   number:NAME            the same as int, or as float for f32
 *   anything else          an expression, int
 */
struct pass {
    const char *kernel;
    const char *extent[3]; /* NULL in [0]: {"W", "H"} */
    const char *block[3];  /* NULL: 1 */
    /* NULL in [0]: the tunables WG_X and WG_Y, where the variant has them and the extent that dimension. 0,
     * or nothing of these: the driver chooses. NULL behind [0]: 1. */
    const char *local[3];
    const char *arguments[MAX_ARGUMENTS + 1];
};

/* Memory between passes: a pure function of case and configuration. A buffer of `bytes`, or with width and
 * height an image of `channels` elements (0: as many as the input has) of `type`, read as 0..1 when
 * normalised. What it holds is lost between runs, unless it is kept. */
struct scratch {
    const char *bytes;
    const char *width, *height;
    hone_type type;
    uint32_t channels;
    bool normalised;
    bool kept; /* a buffer: 0 before the first run, and then as the run before left it */
};

/* What an ideal machine must do for one pixel of the result (all channels), over all passes; expressions,
 * evaluated as real numbers. */
struct cost {
    /* of memory traffic: each input element read once per pass, each output written once */
    const char *bytes;
    const char *loads;      /* load instructions */
    const char *operations; /* arithmetic operations, counting one for each element of a vector */
};

/* More options for the compiler, such as -cl-mad-enable (guide 8.2). */
struct build_option {
    const char *text;
    const char *where; /* expression over tunables too; NULL: always */
};

struct variant {
    const char *name, *summary;
    const char *source;    /* file in the filter's folder; NULL: kernel.cl */
    const char *condition; /* where it is right, without tunables; NULL: everywhere */
    unsigned needs;
    unsigned fuses;   /* sum of FUSES_x */
    const char *path; /* "buffer", "image", "local", "wide", "packed": what seeds must not miss */
    bool brief;       /* its program is short, thus compiled in 0.1 s or so: for a few runs on GPUs */
    bool general;     /* one program for parameters that faster ones compile in: made at installation, too */
    bool relaxed;     /* not exact: chosen only under accuracy=relaxed */
    double bounds[3]; /* of a relaxed variant, like hone_filter.bounds */
    /* Sum of TYPE_x: of these it gives the reference of exact=yes to the last bit. It runs under exact=yes
     * alone; filters that are exact anyway have none. */
    unsigned exact;
    const char *specialised; /* why a parameter is compiled in, where one is */
    struct build_option options[MAX_OPTIONS];
    /* bytes: first pixels and row pitches must be multiples, else they are copied aside; 0: any */
    unsigned align;
    struct tunable tunables[MAX_TUNABLES];
    const char *constraints[6]; /* over tunables too; all must hold */
    /* Shape constants, "NAME=EXPRESSION"; "NAME=ints0:COUNT" and "NAME=floats0:COUNT" list so many numbers of
     * what the filter's table() fills. */
    const char *defines[MAX_DEFINES];
    struct scratch scratch[MAX_SCRATCH];
    struct pass passes[MAX_PASSES];
    struct cost cost;
};

/* A hand-written choice: the first one whose condition holds, whose variant is usable and whose configuration
 * is legal, is used until the tuner knows better. Also the seeds of the search. */
struct seed {
    const char *where; /* expression; NULL: always */
    const char *variant;
    const char *config; /* "WG_X=32 ROWS=8"; what is not named has its default */
};

/* A step of the ladder in the document a filter comes from. What the document says of it stands in
 * data/seeds/. */
struct rung {
    const char *name;  /* "4-1-2" */
    const char *title; /* what the step does */
    const char *variant, *config;
    const char *where; /* "guide, table 9-2, Adreno 430, 3264x2448" */
};

/**
 * The arithmetic of a filter whose result at an element follows from that element alone (and from the same
 * one of `second`), so that it can run inside another filter's kernel (guide 8.1). `source` is a file of the
 * filter's folder that defines, in OpenCL C,
 *
 *   inline void STAGE(STAGE_IN value, int i, int y, STAGE_OUT *result, ...)
 *
 * for element i of row y; the host names the function and its types, STAGE_T and STAGE_OT number them like
 * HONE_T. `result` has room for as many elements as one of the input makes. `...` are `arguments`, of the
 * kinds second (pointer, offset, pitch), table (__global const uchar *), float:, number: and expressions.
 */
struct point_arithmetic {
    const char *source;
    const char *arguments[MAX_POINT_ARGUMENTS + 1];
};

/**
 * Of a filter whose table counts values in bins. `hone apply` sets the range, where it is not given, to that
 * of the picture (of more than 8 bits), and writes the edges beside the counts.
 */
struct bins {
    const char *min, *max; /* the parameters that are the range */
    /* A choice, and its words: the counts; the counts with three more behind, of what is below the range,
     * above it, and NaN; and a picture of the counts. */
    const char *output, *table, *full, *picture;
    double (*edge)(const struct filter_case *c, int64_t index); /* edge 0 to the number of bins */
    /* Row y of the picture (u8) of a case that makes one, from the counts of the table. */
    void (*draw)(const struct filter_case *c, const uint64_t *counts, uint32_t y, uint8_t *row);
};

/* A use of the filter, to show: what comes of it, and what `hone apply` gets, quoted for the shell. */
struct example {
    const char *purpose, *arguments;
};

/* Where the pixels that a result is made of lie: what runs an image in parts (tiles) goes by this. */
enum reads {
    READS_WINDOW,    /* in `window` around its own place */
    READS_BEFORE,    /* at its place, left of it and above: a sum that goes on from part to part */
    READS_ALL,       /* everywhere: counts, which add up over parts */
    READS_ELSEWHERE, /* at another place */
};

/* The text of a filter of one's own. */
struct own_source {
    const char *path; /* as it was named */
    const char *text; /* all of the file */
    bool pixel;       /* it is one function, whose kernels hone has; else the kernels are the author's */
    const char *head; /* definitions that come before it; NULL without such a function */
};

/* How far windows reach from a pixel, in pixels: expressions, NULL: 0. */
struct window {
    const char *left, *right, *top, *bottom;
};

/* ---- The filter ---- */

enum {
    CHANNELS_1 = 1 << 1,
    CHANNELS_2 = 1 << 2,
    CHANNELS_3 = 1 << 3,
    CHANNELS_4 = 1 << 4,
    CHANNELS_ALL = 0x1e
};
/* TYPES_ALL is without s16: filters that make gradients take none. */
enum {
    TYPE_U8 = 1 << HONE_U8,
    TYPE_U16 = 1 << HONE_U16,
    TYPE_F32 = 1 << HONE_F32,
    TYPE_S16 = 1 << HONE_S16,
    TYPES_ALL = TYPE_U8 | TYPE_U16 | TYPE_F32
};

struct hone_filter {
    const char *name, *summary;
    const char *origin;           /* paper or seed, section */
    const struct own_source *own; /* its text, if it was loaded; NULL: kernel files of its folder */
    unsigned types, channels;     /* of the input: sums of TYPE_x and CHANNELS_x */
    unsigned inputs;              /* 1 or 2 */
    bool scales;  /* results go by the full range of the type: s16, which has none, must not become f32 */
    bool spatial; /* looks at neighbours: has `border` and `alpha` */
    enum reads reads;
    bool turns;           /* READS_ELSEWHERE: the pixel at (x, y) is that at (y, x) */
    struct window window; /* what may not change a result lies outside */
    unsigned period;      /* results depend on their positions modulo this; 0: they do not */
    struct parameter parameters[MAX_PARAMETERS];
    const char *symbols[MAX_SYMBOLS];
    const char *reals[MAX_REALS];

    /* Checks what the parameter table cannot, computes symbols and reals, sets c->out (which is a copy of
     * c->in before). Called again whenever a parameter changes; must free what c->data held. NULL: nothing to
     * do. */
    hone_status (*prepare)(struct filter_case *c, hone_error *error);
    /* Whether a result is a mean of pixels whose weights add up to 1, the same for every channel: colours
     * multiplied by alpha may then be filtered together with it. Of a prepared case. NULL: never. */
    bool (*averages)(const struct filter_case *c);
    /* Fills constant table `index` of `bytes` bytes. NULL: the filter has none. */
    void (*table)(const struct filter_case *c, int index, void *table, size_t bytes);
    /* The definition of right, in double precision or exact integers: writes every pixel of out. Where a
     * bound is above 0 and variants are exact, c->exact asks for the definition that those keep. */
    void (*reference)(
        const struct filter_case *c, const struct view *in, const struct view *second,
        struct view *out); /* NULL, of loaded ones: the first variant with its defaults is right */

    /* Largest |result - reference| for u8, u16 (and s16) and f32 input; in levels of the result's format, for
     * f32 relative to the largest finite magnitude of the input (see gain and bias of a case; integers made
     * of f32: in levels). 0: exact. The reason stands beside the number in filter.c. */
    double bounds[3];
    /* Integers made of integers are exact: for these types `bounds` are those of f32 results. */
    bool exact_integers;

    struct example examples[MAX_EXAMPLES]; /* the simplest first; the tests run them */

    const struct point_arithmetic *point; /* NULL: not a point filter */
    const struct bins *bins;              /* NULL: counts nothing */

    const struct variant *variants;
    size_t variant_count;
    const struct seed *seeds;
    size_t seed_count;
    const struct rung *rungs;
    size_t rung_count;

    /* Parameters that tests try, "size=3 width=5" each, the most telling first; ends with NULL. NULL: the
     * defaults, and every choice once. Small windows: the reference runs at each of many sizes. */
    const char *const *trials;
    /* Parameters that users mostly use, which `hone tune` tunes by itself; ends with NULL. NULL: the
     * defaults. */
    const char *const *usual;
    /* Others whose programs `hone cache precompile` makes, too: one for each that needs one of its own. Ends
     * with NULL; NULL: none. */
    const char *const *ahead;
};

/* What the descriptions of filters, variants, passes and parameters begin with; fields that follow are
 * named. */
#define FILTER(called, about, source, from, takes, images)                                                   \
    .name = called, .summary = about, .origin = source, .types = from, .channels = takes, .inputs = images
#define VARIANT(called, file, wants, way, about)                                                             \
    .name = called, .source = file, .needs = wants, .path = way, .summary = about
#define PASS(function, ...)                                                                                  \
    {                                                                                                        \
        .kernel = function, __VA_ARGS__                                                                      \
    }
#define NUMBER_PARAMETER(called, type, standard, minimum, maximum, units, about, ...)                        \
    {                                                                                                        \
        .name = called, .kind = type, .fallback = standard, .min = minimum, .max = maximum, .unit = units,   \
        .help = about, __VA_ARGS__                                                                           \
    }
#define CHOICE_PARAMETER(called, standard, words, about, ...)                                                \
    {                                                                                                        \
        .name = called, .kind = PARAMETER_CHOICE, .fallback = standard, .choices = words, .help = about,     \
        __VA_ARGS__                                                                                          \
    }

/* The fields of a description for a table and its length. */
#define VARIANTS(table)                .variants = table, .variant_count = COUNT_OF(table)
#define SEEDS(table)                   .seeds = table, .seed_count = COUNT_OF(table)
#define RUNGS(table)                   .rungs = table, .rung_count = COUNT_OF(table)
#define TABLES(variants, seeds, rungs) VARIANTS(variants), SEEDS(seeds), RUNGS(rungs)

/* Declares a filter's reference, NAME_reference(), or begins its definition. */
#define REFERENCE(name)                                                                                      \
    void name##_reference(const struct filter_case *c, const struct view *in,                                \
                          const struct view *second __attribute__((unused)), struct view *out)

/* The value of a parameter of a case; the name must exist. */
const struct value *case_value(const struct filter_case *c, const char *name);
/* The same as number. */
double case_number(const struct filter_case *c, const char *name);
/* Sets a symbol or a real; the name must exist. */
void case_set_symbol(struct filter_case *c, const char *name, int64_t value);
void case_set_real(struct filter_case *c, const char *name, double value);
int64_t case_symbol(const struct filter_case *c, const char *name);

/* Whether the fourth channel is to be copied. */
bool case_copies_alpha(const struct filter_case *c);

/* HONE_ERROR_USAGE with a message (printf style), for prepare(): what is wrong, and what would be right. */
hone_status case_wrong(hone_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* For prepare(), where a parameter names a file: the whole text of a regular file of at most `limit` bytes,
 * ended by a 0; the caller frees it. A file that cannot be read, is larger or holds a 0 is HONE_ERROR_IO. */
hone_status case_read_file(const char *path, size_t limit, char **content, hone_error *error);

/* The number that a text begins with, in any locale; *end is where it ends, `text` itself when there
 * is none. */
double case_parse_number(const char *text, char **end);

/**
 * Unsigned division by a constant as multiplication: for every 0 <= n <= most,  n / divisor == (n *
 * multiplier) >> shift. Finds the smallest shift for which the multiplier fits in `bits` bits and every n is
 * right; false when there is none. Source: Granlund and Montgomery, "Division by Invariant Integers using
 * Multiplication", 1994.
 */
bool division_constants(uint64_t divisor, uint64_t most, unsigned bits, uint64_t *multiplier,
                        unsigned *shift);

/**
 * The same with one more than the number: n / divisor == ((n + 1) * multiplier) >> shift. Its multiplier is
 * rounded down, and fits in as many bits as n where the other one needs a bit more.
 */
bool division_constants_of_next(uint64_t divisor, uint64_t most, unsigned bits, uint64_t *multiplier,
                                unsigned *shift);
