/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Plays the work-groups of an NVIDIA GPU on the host, for kernels whose lanes exchange words in registers:
 * each work-item is a fiber that runs until it meets others. Work-groups run one after the other, as they
 * take their tickets.
 *
 *     play WARPS GROUPS PITCH TILES ELEMENTS HEIGHT OUT_PITCH COUNTER_BYTES RUNS < pixels > sums
 *
 * runs integral_lookback_tiles, compiled for this host (clang -x cl), so many times with the same counters.
 * Pitches are in elements. Fails if the kernel writes behind its counters, or if lanes part that should meet.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum { LANES = 32, MOST_ITEMS = 1024, STACK = 64 << 10, GUARD = 4096, POISON = 0x5a };

void integral_lookback_tiles(const void *in, int in_offset, int in_pitch, uint32_t *out, int out_offset,
                             int out_pitch, uint32_t *counters, int tiles, int elements, int height);

enum state { RUNS, AT_WARP, AT_GROUP, DONE };

static ucontext_t fibers[MOST_ITEMS], scheduler;
static enum state states[MOST_ITEMS];
static char *stacks;
static uint32_t words[MOST_ITEMS];
static int items, current;

static struct {
    const void *in;
    uint32_t *out, *counters;
    int groups, pitch, tiles, elements, height, out_pitch;
} launch;

static void fail(const char *why)
{
    fprintf(stderr, "play: %s\n", why);
    exit(1);
}

/* ---- What the kernel calls ---- */

static void leave_until(enum state state)
{
    int own = current;
    states[own] = state;
    if (swapcontext(&fibers[own], &scheduler))
        fail("a fiber cannot stop");
}

static uint32_t exchange(uint32_t word, int lane)
{
    const int first = current / LANES * LANES;
    words[current] = word;
    leave_until(AT_WARP);
    word = words[first + lane];
    leave_until(AT_WARP);
    return word;
}

void warp_meet(void)
{
    leave_until(AT_WARP);
}

int played_lane(void)
{
    return current % LANES;
}

uint32_t played_left(uint32_t word, int lanes)
{
    const int lane = current % LANES;
    return exchange(word, lane >= lanes ? lane - lanes : lane);
}

uint32_t played_other(uint32_t word, int mask)
{
    return exchange(word, current % LANES ^ mask);
}

uint32_t played_from(uint32_t word, int lane)
{
    return exchange(word, lane);
}

size_t play_local_id(unsigned dimension) __asm__("_Z12get_local_idj");
size_t play_local_id(unsigned dimension)
{
    return dimension ? 0 : (size_t)current;
}

size_t play_groups(unsigned dimension) __asm__("_Z14get_num_groupsj");
size_t play_groups(unsigned dimension)
{
    return dimension ? 1 : (size_t)launch.groups;
}

void play_barrier(unsigned flags) __asm__("_Z7barrierj");
void play_barrier(unsigned flags)
{
    (void)flags;
    leave_until(AT_GROUP);
}

uint32_t play_increment(volatile uint32_t *word) __asm__("_Z10atomic_incPU8CLglobalVj");
uint32_t play_increment(volatile uint32_t *word)
{
    return (*word)++;
}

uint32_t play_swap(volatile uint32_t *word, uint32_t value) __asm__("_Z11atomic_xchgPU8CLglobalVjj");
uint32_t play_swap(volatile uint32_t *word, uint32_t value)
{
    uint32_t before = *word;
    *word = value;
    return before;
}

uint32_t play_add(volatile uint32_t *word, uint32_t value) __asm__("_Z10atomic_addPU8CLglobalVjj");
uint32_t play_add(volatile uint32_t *word, uint32_t value)
{
    uint32_t before = *word;
    *word += value;
    return before;
}

int play_min(int a, int b) __asm__("_Z3minii");
int play_min(int a, int b)
{
    return a < b ? a : b;
}

/* ---- Work-groups ---- */

static void enter(void)
{
    integral_lookback_tiles(launch.in, 0, launch.pitch, launch.out, 0, launch.out_pitch, launch.counters,
                            launch.tiles, launch.elements, launch.height);
    leave_until(DONE);
}

static int count(int first, int end, enum state state)
{
    int found = 0;
    for (int i = first; i < end; i++)
        found += states[i] == state;
    return found;
}

static void let_run(int first, int end)
{
    for (int i = first; i < end; i++)
        states[i] = RUNS;
}

/* Those go on who have all met. */
static void release(void)
{
    for (int first = 0; first < items; first += LANES) {
        int waiting = count(first, first + LANES, AT_WARP);
        if (waiting == LANES)
            let_run(first, first + LANES);
        else if (waiting)
            fail("lanes of a warp parted");
    }
    if (count(0, items, AT_GROUP) == items)
        let_run(0, items);
}

static void run_group(void)
{
    for (int i = 0; i < items; i++) {
        if (getcontext(&fibers[i]))
            fail("no fiber can be made");
        fibers[i].uc_stack.ss_sp = stacks + (size_t)i * STACK;
        fibers[i].uc_stack.ss_size = STACK;
        fibers[i].uc_link = NULL;
        makecontext(&fibers[i], enter, 0);
    }
    let_run(0, items);
    while (count(0, items, DONE) < items) {
        if (!count(0, items, RUNS))
            fail("work-items wait for others that have ended");
        for (current = 0; current < items; current++)
            if (states[current] == RUNS && swapcontext(&scheduler, &fibers[current]))
                fail("a fiber cannot run");
        release();
    }
}

/* ---- Memory ---- */

static void *make(size_t bytes)
{
    void *memory = NULL;
    if (posix_memalign(&memory, 64, bytes + GUARD))
        fail("out of memory");
    memset((char *)memory + bytes, POISON, GUARD);
    return memory;
}

static void check_guard(const void *memory, size_t bytes)
{
    const char *guard = (const char *)memory + bytes;
    for (int i = 0; i < GUARD; i++)
        if (guard[i] != POISON)
            fail("the kernel wrote behind its memory");
}

int main(int argc, char **argv)
{
    int n[9];
    if (argc != 10)
        fail("takes nine numbers");
    for (int i = 0; i < 9; i++)
        n[i] = atoi(argv[i + 1]);
    items = n[0] * LANES;
    launch.groups = n[1];
    launch.pitch = n[2];
    launch.tiles = n[3];
    launch.elements = n[4];
    launch.height = n[5];
    launch.out_pitch = n[6];
    const size_t in_bytes = (size_t)launch.pitch * (size_t)launch.height * sizeof(PIXEL);
    const size_t out_bytes = (size_t)launch.out_pitch * (size_t)launch.height * 4,
                 counter_bytes = (size_t)n[7];
    void *in = make(in_bytes);
    if (fread(in, 1, in_bytes, stdin) != in_bytes)
        fail("too few pixels");
    launch.in = in;
    launch.out = make(out_bytes);
    launch.counters = make(counter_bytes);
    memset(launch.counters, 0, counter_bytes);
    stacks = make((size_t)items * STACK);
    for (int run = 0; run < n[8]; run++) {
        memset(launch.out, POISON, out_bytes);
        for (int group = 0; group < launch.groups; group++)
            run_group();
    }
    check_guard(launch.out, out_bytes);
    check_guard(launch.counters, counter_bytes);
    return fwrite(launch.out, 1, out_bytes, stdout) != out_bytes;
}
