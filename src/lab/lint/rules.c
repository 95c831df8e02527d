/* SPDX-License-Identifier: BSD-2-Clause */
/* What is looked for, with the section of the guide. */
#include "lab/lint/internal.h"

#include <string.h>

static const struct lint_rule rules[RULE_COUNT] = {
    [RULE_SIZE_T] = {"size-t", "8.8",
                     "size_t has 64 bits on most devices, which GPUs put together from two 32-bit registers",
                     "int or uint, converted once from what get_global_id() returns"},
    [RULE_INDEX_64] = {"index-64", "8.7", "an index of 64 bits needs 64-bit arithmetic for every address",
                       "an int or uint index; a launch that needs more can be split"},
    [RULE_DIVISION] =
        {"division", "8.10",
         "integer division by what the compiler does not know is emulated with many instructions",
         "a shift, a constant, a multiplication by the reciprocal computed on the host, or "
         "native_recip where its error does not matter"},
    [RULE_MODULO] =
        {"modulo", "8.10",
         "the remainder of an integer division by what the compiler does not know is as slow as the "
         "division",
         "a mask for powers of two, a comparison and a subtraction, or a constant"},
    [RULE_PRIVATE_ARRAY] =
        {"private-array", "7.1.3",
         "arrays of a work-item go to memory, unless every index is known when compiling",
         "vectors or single variables; local memory; unrolled loops with constant indices"},
    [RULE_TABLE] = {"table-in-kernel", "8.10",
                    "a constant table inside a function is made again by each work-item",
                    "a __constant array outside all functions"},
    [RULE_WIDE_LOAD] = {"wide-load", "7.2.2",
                        "loads and stores of more than 4 elements are split into several, and take registers",
                        "at most 4 elements (128 bits) at a time"},
    [RULE_CONSTANT_BYTES] = {"constant-bytes", "7.1.2",
                             "constant memory on the chip holds elements of 16 and 32 bits only",
                             "elements of 16 or 32 bits"},
    [RULE_CONSTANT_SCATTER] =
        {"constant-scatter", "7.1.2",
         "constant memory serves one address at a time; work-items that ask for different ones "
         "wait for each other",
         "an image, or local memory"},
    [RULE_CONSTANT_SIZE] = {"constant-size", "7.1.2",
                            "an array of unknown size is not put into constant memory on the chip",
                            "__attribute__((max_constant_size(BYTES))) on the parameter"},
    [RULE_CONST] = {"const", "7.1.4.1", "the compiler may not use read-only caches for what might be written",
                    "const on what the pointer points to"},
    [RULE_RESTRICT] = {"restrict", "7.1.4.1",
                       "where two pointers may meet, every store makes the compiler load again",
                       "restrict on the pointers of kernels that share no memory"},
    [RULE_GROUP_SIZE] =
        {"group-size", "6.2",
         "a fixed work-group size keeps the compiler from the best code, and fits one device only",
         "a size chosen at launch, tuned for each device"},
    [RULE_BRANCH] = {"branch", "8.5",
                     "work-items of a wave that go different ways execute both, with control flow around",
                     "select() or ?: where both values are cheap"},
    [RULE_DOUBLE] = {"double-literal", "7.2.3",
                     "a literal without a suffix is a double, and computes in double precision with it",
                     "the suffix f"},
    [RULE_BARRIER_LOOP] =
        {"barrier-in-loop", "6.4",
         "each round waits for the slowest work-item; barriers limit the size of work-groups",
         "one barrier for several rounds (two buffers in turn), or no exchange of data"},
    [RULE_FENCE] = {"fence", "8.10",
                    "a fence orders the accesses of one work-item, and keeps the compiler from mixing code; "
                    "it waits for "
                    "no other work-item",
                    "barrier() where work-items exchange data"},
    [RULE_PRECISE_MATH] = {"precise-math", "8.3",
                           "the function keeps IEEE precision, which takes extra instructions",
                           "its native_ form, or -cl-fast-relaxed-math, where the error does not matter"},
    [RULE_SLOW_MATH] = {"slow-math", "8.3",
                        "the function is emulated in software (class D of the guide's table 8-1)",
                        "functions of the classes A and B, or a table"},
    [RULE_GLOBAL_ATOMIC] = {"global-atomic", "7.3",
                            "atomics on one global address run one after the other, over all work-groups",
                            "local atomics first, then one global one per work-group"},
    [RULE_GENERIC] = {"generic-pointer", "8.9",
                      "the device finds out at run time which memory a generic pointer means",
                      "the address space by name"},
    [RULE_PRINTF] = {"printf", "4.2", "printing slows kernels down, and floods what reads it",
                     "printf under an #ifdef, for one work-item"},
    [RULE_ALLOW] =
        {"allow", "-", "a comment that allows something has to be right, or it hides more than it says",
         "// hone-lint: allow RULE: reason, on the line or the one before; allow-file for a whole file"},
};

const struct lint_rule *lint_rule_at(size_t index)
{
    return index < RULE_COUNT ? &rules[index] : NULL;
}

const struct lint_rule *lint_rule_find(const char *name)
{
    for (size_t i = 0; i < RULE_COUNT; i++)
        if (strcmp(rules[i].name, name) == 0)
            return &rules[i];
    return NULL;
}
