/* SPDX-License-Identifier: BSD-2-Clause */
/* What the fake vendor's layer and its tests agree on. */
#ifndef TESTS_VENDOR_H
#define TESTS_VENDOR_H

#include <stdint.h>

/* Stands for an EGLImageKHR. */
struct fake_egl_image {
    uint32_t width, height;
    uint8_t *pixels; /* RGBA, 8 bits each, tight rows */
};

/* Stands for the EGLDisplay. */
#define FAKE_EGL_DISPLAY ((void *)0x1234)

#endif
