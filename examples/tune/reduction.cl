/* SPDX-License-Identifier: BSD-2-Clause */
/* The sum of N bytes. Each work-item adds ITEMS times VEC bytes; a work-group adds its work-items' sums in
 * local memory, as a tree or with atomic additions, and adds the result to the sum of all. What is right says
 * sum.c, for which the command line must ask: --check sum.so:sum_reference */
//@tune param GROUP=64,128,256,32
//@tune param ITEMS=1,4,16,64
//@tune param VEC=1,4,16
//@tune param TREE=1,0
//@tune restrict N%(GROUP*ITEMS*VEC)==0
//@tune define N=4194304
//@tune global N/ITEMS/VEC
//@tune local GROUP
//@tune arg random:u8:N
//@tune arg out:u32:1
//@tune arg local:u32:GROUP
//@tune bytes N
#ifndef GROUP
#define GROUP 64 /* work-items in a group */
#endif
#ifndef ITEMS
#define ITEMS 1 /* loads of a work-item */
#endif
#ifndef VEC
#define VEC 1 /* bytes of a load */
#endif
#ifndef TREE
#define TREE 1 /* 0: atomic additions in local memory */
#endif

uint load(global const uchar *bytes, size_t at)
{
#if VEC == 1
    return bytes[at];
#elif VEC == 4
    uint4 four = convert_uint4(vload4(at, bytes));
    return four.x + four.y + four.z + four.w;
#else
    uint8 eight = convert_uint8(vload16(at, bytes).lo) + convert_uint8(vload16(at, bytes).hi);
    uint4 four = eight.lo + eight.hi;
    return four.x + four.y + four.z + four.w;
#endif
}

kernel void sum(global const uchar *bytes, volatile global uint *total, volatile local uint *scratch)
{
    uint mine = 0;
    int me = get_local_id(0);
    for (int i = 0; i < ITEMS; i++)
        mine += load(bytes, ((size_t)get_group_id(0) * ITEMS + i) * GROUP + me);
#if TREE
    scratch[me] = mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int half_way = GROUP / 2; half_way > 0; half_way /= 2) {
        if (me < half_way)
            scratch[me] += scratch[me + half_way];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
#else
    if (me == 0)
        scratch[0] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_add(&scratch[0], mine);
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
    if (me == 0)
        atomic_add(total, scratch[0]);
}
