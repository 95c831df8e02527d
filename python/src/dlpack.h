/* SPDX-License-Identifier: BSD-2-Clause */
/** The structs of DLPack (https://dmlc.github.io/dlpack), as its ABI before version 1 fixed them. */
#ifndef HONE_PYTHON_DLPACK_H
#define HONE_PYTHON_DLPACK_H

#include <stdint.h>

enum { DLPACK_CPU = 1, DLPACK_CUDA_HOST = 3 }; /* memory that the CPU can read; 3 is pinned */
enum { DLPACK_INT = 0, DLPACK_UINT = 1, DLPACK_FLOAT = 2 };

struct dlpack_tensor {
    void *data;
    int32_t device_type, device_id;
    int32_t ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides; /* in elements; no strides: the last index changes fastest */
    uint64_t byte_offset;
};

struct dlpack_managed {
    struct dlpack_tensor tensor;
    void *context;
    void (*deleter)(struct dlpack_managed *self);
};

#endif
