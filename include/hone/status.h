/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Status codes and the error record of libhone.
 *
 * Every function that can fail returns a hone_status and takes an optional hone_error which the caller owns.
 * There is no global and no thread-local "last error".
 */
#ifndef HONE_STATUS_H
#define HONE_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(HONE_STATIC)
#define HONE_API
#elif defined(__GNUC__)
#define HONE_API __attribute__((visibility("default")))
#else
#define HONE_API
#endif

/** What a call came to. Zero is success; the values are part of the ABI and never change their meaning. */
typedef enum hone_status {
    HONE_OK = 0,
    HONE_ERROR_USAGE = 1,     /**< An argument, a chain or an option is wrong; the message says what would be right. */
    HONE_ERROR_IO = 2,        /**< A file could not be read or written. */
    HONE_ERROR_NO_DEVICE = 3, /**< No OpenCL device fits the request. */
    HONE_ERROR_DEVICE = 4,    /**< An OpenCL call failed; cl_code holds its code. */
    HONE_ERROR_MEMORY = 5,    /**< Host memory, or the memory budget of a device, does not suffice. */
    HONE_ERROR_UNSUPPORTED = 6, /**< Valid, but this device, format or build cannot do it. */
    HONE_ERROR_CHECK = 7,       /**< A comparison or self-test failed. */
    HONE_ERROR_INTERNAL = 8     /**< A defect of hone itself: please report it. */
} hone_status;

/**
 * The record of one failure. Owned by the caller, who may keep it on the stack and need not set it up.
 * Functions write to it only when they fail. Passing NULL instead is always allowed.
 * Threads: a plain value; do not share one between threads without a lock.
 */
typedef struct hone_error {
    hone_status status; /**< Same value as the function returned. */
    int cl_code;        /**< The OpenCL error code (negative), or 0 when OpenCL was not involved. */
    int column;         /**< For a chain or an expression: 1-based column of the mistake, or 0. */
    char message[1024]; /**< One line without a newline: what was wrong, where, and what would be right. */
    char log[4096];     /**< For a kernel that did not build: the start of the compiler's output, or "". */
} hone_error;

/** The name of a status, such as "HONE_ERROR_IO"; never NULL. The string is static. Threads: safe. */
HONE_API const char *hone_status_name(hone_status status);

/** The name of an OpenCL error code, such as "CL_INVALID_WORK_GROUP_SIZE", or "unknown OpenCL error"; never NULL,
 *  static. Threads: safe. */
HONE_API const char *hone_cl_error_name(int cl_code);

#ifdef __cplusplus
}
#endif
#endif
