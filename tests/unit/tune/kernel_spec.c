/* SPDX-License-Identifier: BSD-2-Clause */
/* Specifications of kernels of the user's own, without a device: settings, comments, T1, geometry,
 * sources. */
#include "tune/own/spec/inspect.h"
#include "tune/own/spec/sources.h"
#include "tune/own/spec/spec.h"

#include "base/text.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct variant_limits limits = {256, {256, 256, 64}, 32768};

static struct own_spec *spec_of(const char *const (*settings)[2], size_t count)
{
    struct own_spec *spec = own_spec_new();
    hone_error error;
    for (size_t i = 0; i < count; i++)
        CHECK_STATUS(own_spec_set(spec, settings[i][0], settings[i][1], "folder", &error), HONE_OK);
    return spec;
}

static const char *const blur[][2] = {{"kernel-file", "blur.cl"},   {"kernel", "blur"},
                                      {"param", "TILE=8,16,32"},    {"param", "VEC=1..3"},
                                      {"restrict", "TILE*VEC<=64"}, {"define", "W=640"},
                                      {"define", "H=W*3/4"},        {"global", "roundup(W/VEC, TILE),H"},
                                      {"local", "TILE,4"},          {"arg", "in:u8:in.raw"},
                                      {"arg", "out:u8:W*H"},        {"arg", "float4:1,min(2,3),3,4"},
                                      {"arg", "local:f32:TILE*4"},  {"options", "-cl-mad-enable"},
                                      {"tolerance", "1.5"},         {"bytes", "2*W*H"}};

TEST(settings_come_back_as_they_were)
{
    struct own_spec *spec = spec_of(blur, sizeof blur / sizeof *blur), *again = own_spec_new();
    json_t *settings = own_spec_settings(spec);
    hone_error error;
    CHECK_STATUS(own_spec_check(spec, &error), HONE_OK);
    CHECK_TEXT(spec->arguments[0].file, "folder/in.raw");
    CHECK_STATUS(own_spec_from(again, settings, &error), HONE_OK);
    json_t *back = own_spec_settings(again);
    CHECK(json_equal(settings, back));
    CHECK_EQ(again->parameter_count, 2);
    CHECK_EQ(again->parameters[1].count, 3);
    json_decref(settings);
    json_decref(back);
    own_spec_free(spec);
    own_spec_free(again);
}

/* Names as the worker gives them. */
struct names {
    const char *names[OWN_MAX_DEFINES];
    int64_t values[OWN_MAX_DEFINES];
    struct expr_scope scope;
};

static void define(const struct own_spec *spec, struct names *names)
{
    hone_error error;
    CHECK_STATUS(own_spec_define(spec, NULL, names->names, names->values, &error), HONE_OK);
    names->scope =
        (struct expr_scope){.names = names->names, .values = names->values, .count = spec->define_count};
}

TEST(configurations_are_launched_as_they_say)
{
    struct own_spec *spec = spec_of(blur, sizeof blur / sizeof *blur);
    struct names names;
    struct launch launch;
    int64_t values[SPACE_MAX_PARAMETERS] = {0};
    hone_error error = {0};
    define(spec, &names);
    CHECK_STATUS(own_spec_parse(spec, "TILE=16 VEC=3", values, &error), HONE_OK);
    CHECK_STATUS(own_spec_launch(spec, &names.scope, &limits, values, &launch, &error), HONE_OK);
    CHECK_EQ(launch.dimensions, 2);
    CHECK_EQ(launch.global[0], 224); /* 640 / 3 = 213 */
    CHECK_EQ(launch.global[1], 480);
    CHECK_EQ(launch.local[0], 16);
    CHECK_STATUS(own_spec_parse(spec, "TILE=32 VEC=3", values, &error), HONE_OK);
    CHECK_STATUS(own_spec_launch(spec, &names.scope, &limits, values, &launch, &error),
                 HONE_ERROR_UNSUPPORTED);
    CHECK_HAS(error.message, "'TILE*VEC<=64' does not hold");
    CHECK_STATUS(own_spec_parse(spec, "TILE", values, &error), HONE_ERROR_USAGE);
    CHECK_STATUS(own_spec_parse(spec, "NONE=1", values, &error), HONE_ERROR_USAGE);
    CHECK_STATUS(own_spec_first(spec, &names.scope, &limits, values, &error), HONE_OK);
    CHECK_EQ(values[0], 8);
    own_spec_free(spec);
}

/* The message when no configuration is legal, with one setting more. */
static void none_legal(const char *name, const char *value, const char *part)
{
    struct own_spec *spec = spec_of(blur, sizeof blur / sizeof *blur);
    struct names names;
    int64_t values[SPACE_MAX_PARAMETERS];
    hone_error error = {0};
    CHECK_STATUS(own_spec_set(spec, name, value, NULL, &error), HONE_OK);
    define(spec, &names);
    CHECK_STATUS(own_spec_first(spec, &names.scope, &limits, values, &error), HONE_ERROR_USAGE);
    CHECK_HAS(error.message, part);
    own_spec_free(spec);
}

TEST(why_nothing_is_legal)
{
    none_legal("global", "W/VEC+1,H", "is no multiple of --local 8; write roundup(W/VEC+1,TILE)");
    none_legal("local", "TILE,60", "a work-group of 480 work-items");
    none_legal("local", "1,300", "more than the device takes in dimension 2");
    none_legal("arg", "local:u8:100000", "of local memory are more than the device has");
    none_legal("restrict", "W>1000", "'W>1000' does not hold");
    none_legal("restrict", "WIDTH>0", "unknown name in an expression: WIDTH");
    none_legal("global", "W-640,H", "--global 'W-640' is 0");
    none_legal("restrict", "1/(VEC-VEC)", "division by zero");
}

TEST(a_picture_defines_sizes_before_all_else)
{
    struct own_spec *spec = spec_of(blur, sizeof blur / sizeof *blur);
    struct names names;
    int64_t value = 0;
    hone_error error;
    CHECK_STATUS(own_spec_set_size(spec, 100, 60, 3, &error), HONE_OK);
    define(spec, &names);
    CHECK(expr_lookup(&names.scope, "W", &value) && value == 100);
    CHECK(expr_lookup(&names.scope, "H", &value) && value == 60);
    CHECK(expr_lookup(&names.scope, "C", &value) && value == 3);
    CHECK_EQ(spec->define_count, 3);
    own_spec_free(spec);
}

static void refused(const char *name, const char *value)
{
    struct own_spec *spec = own_spec_new();
    hone_error error = {0};
    CHECK_STATUS(own_spec_set(spec, name, value, NULL, &error), HONE_ERROR_USAGE);
    CHECK_HAS(error.message, name);
    own_spec_free(spec);
}

TEST(hostile_settings)
{
    static const char *const texts[] = {"",
                                        ":",
                                        "=",
                                        "A=",
                                        "=1",
                                        "A=1,",
                                        "A=9..1",
                                        "in:",
                                        "in:u8:",
                                        "in:float4:",
                                        "out:u8",
                                        "out:",
                                        "out:u8:",
                                        "fill:u8:x:1",
                                        "float",
                                        "float4:1,2",
                                        "image:out:u8:1:2",
                                        "sampler:sideways",
                                        "((((",
                                        "1,2,3,4",
                                        "local:",
                                        "unorm:out:u8:1",
                                        "A=99999999999999999999999999999",
                                        "nan"};
    static const char *const settings[] = {"param", "arg",       "define", "global",
                                           "bytes", "tolerance", "unknown"};
    for (size_t s = 0; s < sizeof settings / sizeof *settings; s++)
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
            struct own_spec *spec = own_spec_new();
            hone_error error = {0};
            hone_status status = own_spec_set(spec, settings[s], texts[i], "x", &error);
            CHECK(status == HONE_OK || error.message[0]);
            own_spec_free(spec);
        }
    refused("param", "A=1,1");
    refused("param", "A=a b");
    refused("param", "A=0.5,0.50");
    refused("param", "A=float,float");
    refused("param", "A=0.5,1..4");
    refused("param", "A=x -DB=1");
    refused("param", "A=9..1");
    refused("param", "A=a,");
    refused("param", "A=1..100");
    refused("arg", "float4:1,2");
    refused("arg", "out:u8");
    refused("arg", "image:out:u8:1:2");
    refused("global", "1,2,3,4");
    refused("define", "A=(");
    refused("relative", "-1");
}

TEST(comments_belong_to_their_kernel)
{
    static const char source[] =
        "//@tune define N=8\n"
        "//@tune kernel one\n  //@tune param A=1,2 \r\n//@tune global N\n"
        "kernel void one() {}\n//@tune\tkernel two\n//@tune param B=3\n// @tune param C=1";
    struct own_spec *spec = own_spec_new();
    hone_error error = {0};
    CHECK_STATUS(own_spec_read_comments(spec, source, NULL, &error), HONE_OK);
    CHECK_TEXT(spec->kernel, "one");
    CHECK_EQ(spec->parameter_count, 1);
    CHECK_EQ(spec->parameters[0].values[1], 2);
    own_spec_free(spec);
    spec = own_spec_new();
    CHECK_STATUS(own_spec_set(spec, "kernel", "two", NULL, &error), HONE_OK);
    CHECK_STATUS(own_spec_read_comments(spec, source, NULL, &error), HONE_OK);
    CHECK_TEXT(spec->parameters[0].name, "B");
    CHECK(!spec->global[0] && spec->define_count == 1);
    CHECK_STATUS(own_spec_read_comments(spec, "\n\n//@tune parm A=1\n", NULL, &error), HONE_ERROR_USAGE);
    CHECK_HAS(error.message, "line 3");
    own_spec_free(spec);
}

TEST(sources_are_read_as_words)
{
    static const char source[] = "/* TILE */ // VEC\n#define X TILE2\nkernel void only(int WORK) {}";
    CHECK(!own_source_mentions(source, "TILE"));
    CHECK(!own_source_mentions(source, "VEC"));
    CHECK(own_source_mentions(source, "TILE2"));
    CHECK(own_source_mentions(source, "WORK"));
    CHECK(!own_source_includes(source));
    CHECK(own_source_includes("#  include \"x.h\""));
    char *name = own_source_only(source);
    CHECK_TEXT(name, "only");
    free(name);
    name = own_source_only("__kernel\n__attribute__((reqd_work_group_size(8, 8, 1)))\nvoid f(void) {}");
    CHECK_TEXT(name, "f");
    free(name);
    CHECK(!own_source_only("kernel void a() {} kernel void b() {}"));
    CHECK(!own_source_only("kernel __attribute__((("));
    CHECK(!own_source_only("/* kernel void a() {}"));
}

/* Reads a T1 text; the specification is the caller's. */
static struct own_spec *t1(const char *text, hone_status wanted, hone_error *out)
{
    char path[] = "/tmp/hone-t1-XXXXXX";
    struct own_spec *spec = own_spec_new();
    int fd = mkstemp(path);
    CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    hone_error error = {0};
    CHECK_STATUS(own_spec_read_t1(spec, path, &error), wanted);
    *out = error;
    unlink(path);
    return spec;
}

#define T1(parameters, more)                                                                                 \
    "{\"ConfigurationSpace\":{\"TuningParameters\":[" parameters "]},\"KernelSpecification\":{"              \
    "\"Language\":\"OpenCL\",\"KernelName\":\"k\",\"KernelFile\":\"k.cl\"" more "}}"
#define PARAMETER(values) "{\"Name\":\"A\",\"Type\":\"int\",\"Values\":\"" values "\",\"Default\":4}"

TEST(t1_values)
{
    static const struct {
        const char *text;
        int count;
        int64_t first, last;
    } cases[] = {{T1(PARAMETER("[1, 2, 4]"), ""), 3, 4, 2},
                 {T1(PARAMETER("list(range(1, 9))"), ""), 8, 4, 8},
                 {T1(PARAMETER("range(0, 9, 2)"), ""), 5, 4, 8},
                 {T1(PARAMETER("[True,False]"), ""), 2, 1, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hone_error error = {0};
        struct own_spec *spec = t1(cases[i].text, HONE_OK, &error);
        const struct space_parameter *p = &spec->parameters[0];
        CHECK_EQ(p->count, cases[i].count);
        CHECK_EQ(p->values[0], cases[i].first);
        CHECK_EQ(p->values[p->count - 1], cases[i].last);
        CHECK_TEXT(spec->file, "/tmp/k.cl");
        own_spec_free(spec);
    }
}

static void config_is(const struct own_spec *spec, const int64_t *values, const char *wanted)
{
    struct text config = {0};
    own_spec_print(spec, values, &config);
    CHECK_TEXT(text_view(&config), wanted);
    text_finish(&config);
}

TEST(t1_words)
{
    static const struct {
        const char *text, *first, *last;
    } cases[] = {
        {T1("{\"Name\":\"A\",\"Type\":\"string\",\"Values\":\"['float', 'float4']\"}", ""), "A=float",
         "A=float4"},
        {T1("{\"Name\":\"A\",\"Type\":\"string\",\"Values\":\"[\\\"x\\\",y ]\",\"Default\":\"y\"}", ""),
         "A=y", "A=x"},
        {T1("{\"Name\":\"A\",\"Type\":\"float\",\"Values\":\"[0.5, 1e-3, 2.0]\",\"Default\":2}", ""), "A=2.0",
         "A=1e-3"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hone_error error = {0};
        struct own_spec *spec = t1(cases[i].text, HONE_OK, &error);
        const struct space_parameter *p = &spec->parameters[0];
        config_is(spec, &p->values[0], cases[i].first);
        config_is(spec, &p->values[p->count - 1], cases[i].last);
        own_spec_free(spec);
    }
}

TEST(words_are_for_the_compiler_alone)
{
    static const char *const users[][2] = {{"restrict", "8 <= N*TYPE"}, {"global", "16,TYPE"},
                                           {"local", "TYPE"},           {"arg", "int:TYPE"},
                                           {"arg", "local:u8:TYPE"},    {"bytes", "TYPE"}};
    static const char *const settings[][2] = {{"kernel-file", "k.cl"}, {"kernel", "k"},
                                              {"param", "N=1,2"},      {"param", "TYPE=float,float4"},
                                              {"global", "N"},         {"arg", "out:u8:1"}};
    for (size_t user = 0; user <= sizeof users / sizeof *users; user++) {
        struct own_spec *spec = own_spec_new();
        hone_error error = {0};
        for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
            CHECK_STATUS(own_spec_set(spec, settings[i][0], settings[i][1], NULL, &error), HONE_OK);
        if (user == sizeof users / sizeof *users) {
            CHECK_STATUS(own_spec_check(spec, &error), HONE_OK);
        } else {
            CHECK_STATUS(own_spec_set(spec, users[user][0], users[user][1], NULL, &error), HONE_OK);
            CHECK_STATUS(own_spec_check(spec, &error), HONE_ERROR_USAGE);
            CHECK_HAS(error.message,
                      "takes TYPE for a number, but its values are words or fractions, such as float:");
        }
        own_spec_free(spec);
    }
}

TEST(words_become_texts_and_come_back)
{
    struct own_spec *spec = own_spec_new(), *again = own_spec_new();
    hone_error error = {0};
    int64_t values[SPACE_MAX_PARAMETERS] = {7, 0, 0};
    CHECK_STATUS(own_spec_set(spec, "param", "N=1..8", NULL, &error), HONE_OK);
    CHECK_STATUS(own_spec_set(spec, "param", "TYPE=float,float4", NULL, &error), HONE_OK);
    CHECK_STATUS(own_spec_set(spec, "param", "BIAS=0.5,-1.25,3", NULL, &error), HONE_OK);
    CHECK_STATUS(own_spec_parse(spec, "BIAS=-1.25 N=7 TYPE=float4", values, &error), HONE_OK);
    config_is(spec, values, "N=7 TYPE=float4 BIAS=-1.25");
    CHECK_STATUS(own_spec_parse(spec, "TYPE=float44", values, &error), HONE_ERROR_USAGE);
    CHECK_HAS(error.message, "'float44' is no value of TYPE");
    json_t *settings = own_spec_settings(spec);
    json_array_remove(settings, json_array_size(settings) - 1); /* the check, which needs no device either */
    CHECK_STATUS(own_spec_from(again, settings, &error), HONE_OK);
    config_is(again, values, "N=7 TYPE=float4 BIAS=-1.25");
    CHECK_STATUS(own_spec_set(spec, "param", "TYPE=3,4", NULL, &error), HONE_OK); /* numbers again */
    CHECK(!own_has_words(spec, 1) && own_has_words(spec, 2));
    json_decref(settings);
    own_spec_free(spec);
    own_spec_free(again);
}

TEST(t1_arguments)
{
    static const char text[] = T1(
        PARAMETER("[4]"),
        ",\"ProblemSize\":[64,32],\"GlobalSizeType\":\"CUDA\",\"GlobalSize\":{\"X\":\"ProblemSize[0]//4\"},"
        "\"LocalSize\":{\"X\":\"4\"},\"Arguments\":["
        "{\"Name\":\"a\",\"Type\":\"float4\",\"MemoryType\":\"Vector\",\"AccessType\":\"ReadOnly\","
        "\"FillType\":"
        "\"Random\",\"Size\":10},"
        "{\"Name\":\"b\",\"Type\":\"uint16\",\"MemoryType\":\"Vector\",\"AccessType\":\"ReadWrite\","
        "\"FillType\":"
        "\"Constant\",\"FillValue\":7,\"Size\":\"ProblemSize[1]\"},"
        "{\"Name\":\"c\",\"Type\":\"int32\",\"MemoryType\":\"Scalar\",\"FillValue\":3},"
        "{\"Name\":\"d\",\"Type\":\"float\",\"MemoryType\":\"Local\",\"Size\":16},"
        "{\"Name\":\"e\",\"Type\":\"custom\",\"MemoryType\":\"Vector\",\"x_hone\":\"sampler:linear\"}],"
        "\"ReferenceArguments\":[{\"Name\":\"r\",\"TargetName\":\"b\",\"FillType\":\"BinaryRaw\","
        "\"DataSource\":"
        "\"b.raw\",\"ValidationMethod\":\"SideBySideRelativeComparison\",\"ValidationThreshold\":0.5}]");
    static const char *const wanted[] = {"in:random:f32:4*(10)", "inout:fill:u16:7:ProblemSize_1", "int:3",
                                         "local:f32:16", "sampler:linear"};
    hone_error error = {0};
    struct own_spec *spec = t1(text, HONE_OK, &error);
    CHECK_EQ(spec->argument_count, 5);
    for (int i = 0; i < spec->argument_count; i++)
        CHECK_TEXT(spec->arguments[i].text, wanted[i]);
    CHECK(spec->global_in_groups && spec->check == CHECK_FILES && spec->relative == 0.5 &&
          spec->tolerance == 0);
    CHECK_TEXT(spec->checks[0], "/tmp/b.raw");
    CHECK_TEXT(spec->global[0]->text, "ProblemSize_0//4");
    CHECK_STATUS(own_spec_check(spec, &error), HONE_OK);
    own_spec_free(spec);
}

TEST(t1_refusals)
{
    static const char *const texts[][2] = {
        {"{", "line 1"},
        {"[]", "ConfigurationSpace: is missing"},
        {T1("{\"Name\":\"A\",\"Type\":\"string\",\"Values\":\"['a'\"}", ""), "'float4'"},
        {T1("{\"Name\":\"A\",\"Type\":\"string\",\"Values\":\"['a\"}", ""), "must be a list"},
        {T1("{\"Name\":\"A\",\"Type\":\"string\",\"Values\":\"['a,b']\"}", ""), "must be a list"},
        {T1("{\"Name\":\"A\",\"Type\":\"string\",\"Values\":\"['a b']\"}", ""),
         "takes whole numbers such as"},
        {T1("{\"Name\":\"A\",\"Type\":\"float\",\"Values\":\"\"}", ""), "must be a list"},
        {T1(PARAMETER("[2**3]"), ""), "must be a list"},
        {T1(PARAMETER("[1"), ""), "must be a list"},
        {T1(PARAMETER("range(1,2,0)"), ""), "must be a list"},
        {T1(PARAMETER("range(100)"), ""), "must be a list"},
        {T1("", ",\"Arguments\":[{\"Name\":\"a\",\"Type\":\"float\",\"MemoryType\":\"Symbol\"}]"),
         "Scalar, Vector or Local"},
        {T1("", ",\"Arguments\":[{\"Name\":\"a\",\"Type\":\"custom\",\"MemoryType\":\"Vector\"}]"),
         "does not have"},
        {T1("", ",\"Arguments\":[{\"Name\":\"a\",\"Type\":\"float\",\"MemoryType\":\"Vector\",\"FillType\":"
                "\"Script\",\"Size\":1}]"),
         "Constant, Random or BinaryRaw"},
        {T1("", ",\"Arguments\":[{\"Name\":\"a\",\"Type\":\"float\",\"MemoryType\":\"Vector\"}]"),
         "Size is missing"}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        hone_error error = {0};
        struct own_spec *spec = t1(texts[i][0], HONE_ERROR_USAGE, &error);
        CHECK_HAS(error.message, texts[i][1]);
        own_spec_free(spec);
    }
}
