/* SPDX-License-Identifier: BSD-2-Clause */
/* Small questions to a driver. Built several times, each time with one PART defined (the core: with the wide
 * vectors too, where they are likely); every kernel writes numbers into `answers`, which the host judges. */
#pragma OPENCL FP_CONTRACT OFF

#if defined(PART_LOOPS) || defined(PART_CORE)
void tell_address(__global uint *answers)
{
    answers[20] = (uint)(ulong)answers;
    answers[21] = (uint)((ulong)answers >> 32);
}

uint loops_sum(__global const uint *one, uint rounds)
{
    uint sum = 0;
    for (uint i = 0; i < rounds; i++)
        sum += *one + i % 3; /* *one is 1: the compiler cannot know */
    return sum;
}
#endif

#ifdef PART_LOOPS
__kernel void loops(__global uint *answers, uint rounds)
{
    answers[0] = loops_sum(answers + 1, rounds);
    tell_address(answers);
}
#endif

#if defined(PART_INTEGERS) || defined(PART_CORE)
void integer_answers(__global uint *answers, uint a, uint b, int c)
{
    answers[0] = mul_hi(a, b);
    answers[1] = a + b; /* wraps */
    answers[2] = (uint)(c >> 3);
    answers[3] = convert_uchar_sat(c) + 256u * convert_uchar_sat(-c);
    answers[4] = as_uint(convert_uchar4(as_ushort4((ulong)a << 32 | b)));
    answers[5] = abs_diff(a, b);
}
#endif

#ifdef PART_INTEGERS
__kernel void integers(__global uint *answers, uint a, uint b, int c)
{
    integer_answers(answers, a, b, c);
}
#endif

#if defined(PART_FLOATS) || defined(PART_CORE)
void float_answers(__global uint *answers, float a, float nan)
{
    float square = a * a;
    answers[0] = square - 1.0f == a * a - 1.0f; /* a contracted form keeps the bits that rounding took away */
    answers[1] = isnan(nan) && !(nan == nan) && isnan(nan + a);
    answers[2] = as_uint(a * a - 1.0f);
}
#endif

#ifdef PART_FLOATS
__kernel void floats(__global uint *answers, float a, float nan)
{
    float_answers(answers, a, nan);
}
#endif

#ifdef PART_LOCAL
__kernel void local_sum(__global uint *answers, __local uint *part)
{
    uint lid = get_local_id(0);
    part[lid] = lid + 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint half_size = get_local_size(0) / 2; half_size > 0; half_size /= 2) {
        if (lid < half_size)
            part[lid] += part[lid + half_size];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lid == 0)
        answers[get_group_id(0)] = part[0];
}
#endif

#ifdef PART_ATOMICS
__kernel void atomics(__global uint *answers, __local uint *shared)
{
    if (get_local_id(0) == 0)
        *shared = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_add(shared, 2u);
    atomic_inc(&answers[0]);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0)
        atomic_add(&answers[1], *shared);
}
#endif

#ifdef PART_PROGRESS
/* Work-groups of one, numbered as they start: each looks whether the one before is through, and tells when it
 * gave up. */
__kernel void progress(__global uint *answers, uint looks)
{
    uint number = atomic_inc(&answers[0]), through = number == 0;
    for (uint i = 0; i < looks && !through; i++)
        through = atomic_add(&answers[1 + number], 0u);
    if (!through)
        atomic_inc(&answers[1]);
    atomic_xchg(&answers[2 + number], 1u);
}
#endif

#ifdef PART_HALF_STORE
__kernel void half_store(__global uint *answers)
{
    uint i = get_global_id(0);
    __global half *halves = (__global half *)(answers + 1024);
    vstore_half_rte(vload_half(i, halves), i, halves + 1024);
}
#endif

#ifdef PART_IMAGES
__kernel void image_copy(__read_only image2d_t from, __write_only image2d_t to, sampler_t clamp_sampler)
{
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    write_imageui(to, at, read_imageui(from, clamp_sampler, at - (int2)(1, 1)));
}
#endif

#ifdef PART_WIDE
typedef uchar v64 __attribute__((ext_vector_type(64)));
typedef ushort v64s __attribute__((ext_vector_type(64)));
typedef v64 v64u __attribute__((aligned(1)));
void wide_answers(__global uint *answers)
{
    __global uchar *bytes = (__global uchar *)(answers + 1);
    v64s sum = __builtin_convertvector(*(__global v64u *)(bytes + 1), v64s) +
               __builtin_convertvector(*(__global v64u *)(bytes + 2), v64s);
    v64 high = __builtin_convertvector(sum >> (ushort)1, v64);
    *(__global v64u *)(bytes + 129) = __builtin_shufflevector(
        high, high, 63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45, 44, 43, 42,
        41, 40, 39, 38, 37, 36, 35, 34, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17,
        16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    answers[0] = 1;
}
#ifndef PART_CORE
__kernel void wide(__global uint *answers)
{
    wide_answers(answers);
}
#endif
#endif

#ifdef PART_CORE
/* Each work-item of a group reads what its opposite wrote to local memory: one barrier tells, and compilers
 * are quick. */
__kernel void core(__global uint *answers, uint rounds, __local uint *part, uint a, uint b, int c, float x,
                   float nan)
{
    uint lid = get_local_id(0), last = get_local_size(0) - 1;
    part[lid] = lid + 1;
    if (lid == 0)
        part[last + 1] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_add(&answers[16 + get_group_id(0)], part[last - lid]);
    atomic_add(&part[last + 1], 2u);
    atomic_inc(&answers[11]);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid == 0)
        atomic_add(&answers[12], part[last + 1]);
    if (get_global_id(0) == 0) {
        answers[0] = loops_sum(answers + 1, rounds);
        integer_answers(answers + 2, a, b, c);
        float_answers(answers + 8, x, nan);
        tell_address(answers);
#ifdef PART_WIDE
        wide_answers(answers + 64);
#endif
    }
}
#endif

#ifdef PART_HALF
#ifndef cl_khr_fp16
#define cl_khr_fp16 1
#endif
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
typedef union {
    uint bits;
    half2 value;
} pair;
__kernel void halves(__global uint *answers, uint a, uint b)
{
    pair x, y, z;
    x.bits = a;
    y.bits = b;
    z.value = x.value * (half)2 - y.value;
    answers[0] = z.bits;
}
#endif

#ifdef PART_PTX
__kernel void ptx(__global uint *answers, uint a, uint b)
{
    uint r;
    asm("prmt.b32 %0, %1, %2, 0x6240;" : "=r"(r) : "r"(a), "r"(b));
    answers[0] = r;
    asm("vabsdiff4.u32.u32.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(0u));
    answers[1] = r;
    asm("dp4a.u32.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(7u));
    answers[2] = r;
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(0x40003c00u), "r"(0x40004000u), "r"(0x3c003c00u));
    answers[3] = r; /* (1, 2) * (2, 2) + (1, 1) = (3, 5) */
    asm volatile("shfl.sync.down.b32 %0, %1, 1, 31, 0xffffffff;" : "=r"(r) : "r"((uint)get_local_id(0)));
    answers[4 + get_local_id(0)] = r;
}
#endif

#ifdef PART_SUBGROUPS
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
__kernel void subgroups(__global uint *answers)
{
    answers[get_local_id(0)] = sub_group_scan_inclusive_add(1u) == get_sub_group_local_id() + 1;
}
#endif
