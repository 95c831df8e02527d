/* SPDX-License-Identifier: BSD-2-Clause */
/* What is right for reduction.cl: the same sum in plain C. Make it a shared object with `make`. */
#include <stddef.h>
#include <stdint.h>

int sum_reference(void *const arguments[], const size_t bytes[], int count);

int sum_reference(void *const arguments[], const size_t bytes[], int count)
{
    const uint8_t *in = arguments[0];
    uint32_t *total = arguments[1];
    if (count != 3 || bytes[1] != sizeof *total)
        return 1;
    *total = 0;
    for (size_t i = 0; i < bytes[0]; i++)
        *total += in[i];
    return 0;
}
