/* SPDX-License-Identifier: BSD-2-Clause */
#include "tune/facts/waves.h"

#include "base/mem.h"

#include <string.h>

/* ---- AMD ---- */

bool wave_unit_of(const char *architecture, struct wave_unit *unit)
{
    static const struct {
        const char *prefix;
        struct wave_unit unit;
    } units[] = {
        {"gfx90a", {512, 8, 8}},     {"gfx94", {512, 8, 8}},      {"gfx95", {512, 8, 8}},
        {"gfx101", {1024, 8, 20}},   {"gfx103", {1024, 16, 16}},  {"gfx1100", {1536, 24, 16}},
        {"gfx1101", {1536, 24, 16}}, {"gfx1151", {1536, 24, 16}}, {"gfx11", {1024, 16, 16}},
        {"gfx12", {1536, 24, 16}},   {"gfx", {256, 4, 10}},
    };
    for (size_t i = 0; i < COUNT_OF(units); i++)
        if (strncmp(architecture, units[i].prefix, strlen(units[i].prefix)) == 0) {
            *unit = units[i].unit;
            return true;
        }
    return false;
}

static unsigned round_up(unsigned value, unsigned multiple)
{
    return (value + multiple - 1) / multiple * multiple;
}

unsigned wave_unit_waves(const struct wave_unit *unit, unsigned registers)
{
    const unsigned needed = round_up(registers ? registers : 1, unit->granule);
    const unsigned waves = unit->registers / needed;
    return waves < unit->most ? waves : unit->most;
}

/* ---- NVIDIA ---- */

enum {
    WARP = 32,
    REGISTER_GRANULE = 256, /* of a warp */
    WARP_GRANULE = 4,       /* a quarter of a multiprocessor schedules its own */
    MOST_REGISTERS = 255
};

bool warp_unit_of(unsigned capability, struct warp_unit *unit)
{
    static const struct {
        unsigned capability;
        struct warp_unit unit;
    } units[] = {
        {50, {65536, 64, 32, 64 << 10, 0}},        {52, {65536, 64, 32, 96 << 10, 0}},
        {60, {65536, 64, 32, 64 << 10, 0}},        {61, {65536, 64, 32, 96 << 10, 0}},
        {70, {65536, 64, 32, 96 << 10, 0}},        {75, {65536, 32, 16, 64 << 10, 0}},
        {80, {65536, 64, 32, 164 << 10, 1 << 10}}, {86, {65536, 48, 16, 100 << 10, 1 << 10}},
        {89, {65536, 48, 24, 100 << 10, 1 << 10}}, {90, {65536, 64, 32, 228 << 10, 1 << 10}},
    };
    for (size_t i = 0; i < COUNT_OF(units); i++)
        if (units[i].capability == capability) {
            *unit = units[i].unit;
            return true;
        }
    return false;
}

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

unsigned warp_unit_warps(const struct warp_unit *unit, unsigned registers, unsigned items, size_t local_bytes)
{
    const unsigned warps = (items + WARP - 1) / WARP; /* of a work-group */
    if (warps == 0 || warps > unit->warps || registers > MOST_REGISTERS)
        return 0;
    const unsigned for_warp = round_up(registers * WARP, REGISTER_GRANULE);
    unsigned groups = least(unit->groups, unit->warps / warps);
    if (for_warp)
        groups = least(groups, unit->registers / for_warp / WARP_GRANULE * WARP_GRANULE / warps);
    const size_t local = local_bytes + unit->local_reserved;
    if (local)
        groups = least(groups, (unsigned)(unit->local_bytes / local));
    return groups * warps;
}
