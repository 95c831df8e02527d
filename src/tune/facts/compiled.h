/* SPDX-License-Identifier: BSD-2-Clause */
/* What compilers leave behind of a kernel: in NVIDIA's build log, in AMD's program binary. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct compiled {
    unsigned registers; /* of a work-item, vector registers */
    unsigned spills;    /* NVIDIA: bytes stored; AMD: registers. 0: none */
};

/* From the log of a build with -cl-nv-verbose. False where it says nothing of the kernel. */
bool compiled_of_log(const char *log, const char *kernel, struct compiled *out);
/* From the metadata (NT_AMDGPU_METADATA, MessagePack) of an ELF file, wherever in it they stand. */
bool compiled_of_binary(const void *binary, size_t bytes, const char *kernel, struct compiled *out);
