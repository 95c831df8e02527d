/* SPDX-License-Identifier: BSD-2-Clause */
/* Registers, and how many waves they leave room for. */
#include "tune/facts/compiled.h"
#include "tune/facts/waves.h"

#include "test.h"

#include <string.h>

/* The write-up on the density filter: 41 vector registers, 5 waves; 6, all 10. */
TEST(the_write_ups_numbers)
{
    struct wave_unit gcn;
    REQUIRE(wave_unit_of("gfx803", &gcn));
    CHECK_EQ(wave_unit_waves(&gcn, 41), 5);
    CHECK_EQ(wave_unit_waves(&gcn, 6), 10);
    CHECK_EQ(wave_unit_waves(&gcn, 0), 10);
    CHECK_EQ(wave_unit_waves(&gcn, 24), 10);
    CHECK_EQ(wave_unit_waves(&gcn, 25), 9);
    CHECK_EQ(wave_unit_waves(&gcn, 256), 1);
    CHECK_EQ(wave_unit_waves(&gcn, 257), 0);
}

/* "Optimizing GPU occupancy and resource usage with large thread groups" and AMD's later documents. */
TEST(other_generations_of_amd)
{
    struct wave_unit unit;
    REQUIRE(wave_unit_of("gfx90a:sramecc+:xnack-", &unit));
    CHECK_EQ(wave_unit_waves(&unit, 64), 8);
    CHECK_EQ(wave_unit_waves(&unit, 128), 4);
    REQUIRE(wave_unit_of("gfx1030", &unit));
    CHECK_EQ(wave_unit_waves(&unit, 64), 16);
    CHECK_EQ(wave_unit_waves(&unit, 65), 12);
    CHECK(!wave_unit_of("sm_90", &unit));
    CHECK(!wave_unit_of("", &unit));
}

/* The CUDA programming guide, section on multiprocessors: of a kernel of 64 registers two groups of 512 are
 * resident on a device of compute capability 6.x, of one of 65 registers only one. */
TEST(the_cuda_guides_example)
{
    struct warp_unit unit;
    REQUIRE(warp_unit_of(60, &unit));
    CHECK_EQ(warp_unit_warps(&unit, 64, 512, 0), 32);
    CHECK_EQ(warp_unit_warps(&unit, 65, 512, 0), 16);
}

/* What NVIDIA's occupancy calculator gives: 62.5 % for 41 registers, groups of 256; local memory and the
 * number of groups as limits. */
TEST(the_occupancy_calculator)
{
    struct warp_unit unit;
    REQUIRE(warp_unit_of(80, &unit));
    CHECK_EQ(warp_unit_warps(&unit, 41, 256, 0), 40);
    CHECK_EQ(warp_unit_warps(&unit, 32, 256, 0), 64);
    CHECK_EQ(warp_unit_warps(&unit, 32, 32, 0), 32);
    CHECK_EQ(warp_unit_warps(&unit, 16, 256, 81 << 10), 16);
    CHECK_EQ(warp_unit_warps(&unit, 16, 256, 165 << 10), 0);
    CHECK_EQ(warp_unit_warps(&unit, 16, 4096, 0), 0);
    CHECK_EQ(warp_unit_warps(&unit, 16, 0, 0), 0);
    CHECK(!warp_unit_of(11, &unit));
}

static const char build_log[] =
    "ptxas info    : 0 bytes gmem, 24 bytes cmem[3]\n"
    "ptxas info    : Compiling entry function 'first' for 'sm_90'\n"
    "ptxas info    : Function properties for first\n"
    "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
    "ptxas info    : Used 41 registers, used 0 barriers, 400 bytes cmem[0]\n"
    "ptxas info    : Compiling entry function 'first_two' for 'sm_90'\n"
    "ptxas info    : Function properties for first_two\n"
    "ptxas         .     96 bytes stack frame, 64 bytes spill stores, 72 bytes spill loads\n"
    "ptxas info    : Used 255 registers, used 1 barriers, 400 bytes cmem[0]\n"
    "ptxas info    : Compiling entry function 'last' for 'sm_90'\n";

TEST(nvidias_log)
{
    struct compiled compiled;
    REQUIRE(compiled_of_log(build_log, "first", &compiled));
    CHECK_EQ(compiled.registers, 41);
    CHECK_EQ(compiled.spills, 0);
    REQUIRE(compiled_of_log(build_log, "first_two", &compiled));
    CHECK_EQ(compiled.registers, 255);
    CHECK_EQ(compiled.spills, 64);
    CHECK(!compiled_of_log(build_log, "last", &compiled));
    CHECK(!compiled_of_log(build_log, "second", &compiled));
    CHECK(!compiled_of_log("", "first", &compiled));
}

/* As LLVM writes it, in the order of the alphabet. The first kernel has an argument with the second one's
 * name. */
#define TEXT_5  "\xa5"
#define TEXT_10 "\xaa"
#define NAME    TEXT_5 ".name"
#define PRIVATE                                                                                              \
    "\xbb.private_segment_fixed_size"                                                                        \
    "\x00"
#define REGISTERS "\xab.vgpr_count"
#define SPILLS    "\xb1.vgpr_spill_count"
static const char metadata[] = "\x7f"
                               "ELF....\xaf"
                               "amdhsa.kernels\x92\x8a" NAME TEXT_5 "split"
                               "\xa7.offset\x08" NAME TEXT_10 "expression" PRIVATE REGISTERS "\x29" SPILLS
                               "\x00" NAME TEXT_5 "split" PRIVATE REGISTERS "\xcc\xe0" SPILLS "\xcd\x01\x02";

TEST(amds_metadata)
{
    struct compiled compiled;
    const size_t all = sizeof metadata - 1;
    REQUIRE(compiled_of_binary(metadata, all, "expression", &compiled));
    CHECK_EQ(compiled.registers, 41);
    CHECK_EQ(compiled.spills, 0);
    REQUIRE(compiled_of_binary(metadata, all, "split", &compiled));
    CHECK_EQ(compiled.registers, 0xe0);
    CHECK_EQ(compiled.spills, 0x102);
    CHECK(!compiled_of_binary(metadata, all, "corners", &compiled));
    for (size_t bytes = 0; bytes < all - 22; bytes++) /* cut off anywhere: nothing is read behind the end */
        CHECK(!compiled_of_binary(metadata, bytes, "split", &compiled));
    CHECK(!compiled_of_binary(metadata, 0, "expression", &compiled));
}
