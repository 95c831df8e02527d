/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Declarations of OpenCL C's built-in functions.
 *
 * A compiler that reads them from a header of 14,500 (clang's opencl-c.h, as PoCL 3 uses it) spends a quarter
 * of a second on each program there, ten times what a kernel takes. These are the declarations of the
 * functions that a source names: each with all of its overloads, so that no argument is converted on the way,
 * and with the same attributes, so that the machine code is the same. tests/unit/cl/builtins.c compares them
 * with clang's.
 */
#pragma once

#include <stdbool.h>

struct text;

/* Appends the declarations that `source`, OpenCL C 1.2, needs where the compiler's own header is left out,
 * for which builtins_option is. False where the source may need more (it names 3D images, printf ...), or
 * memory ran out: the header is needed then. */
bool builtins_declare(const char *source, struct text *out);
extern const char *const builtins_option;
