/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Status codes and the error record of libhone.
 *
 * Every function that can fail returns a hone_status and takes an optional hone_error, which the caller owns.
 * There is no global or thread-local "last error".
 *
 * If a required pointer is NULL, functions return HONE_ERROR_USAGE; functions without a status return 0,
 * false or NULL, or do nothing.
 *
 * How the interface grows without breaking compiled programs:
 * - Option structs begin with `size`: sizeof the struct, or 0 for the members of version 0.1. New members are
 * added at
 *   the end, and 0 always means the previous behaviour. A zeroed struct therefore stays valid; set `size` to
 *   use a newer member. If a newer program sets an option that an older library does not know, it gets
 *   HONE_ERROR_UNSUPPORTED.
 * - If another struct grows, the functions that fill or return it get a new symbol version (HONE_0.1 is the
 * first), as
 *   do functions whose meaning changes. Programs keep the version they were linked with. hone_error and
 *   hone_image_desc, which callers allocate, never change.
 */
#ifndef HONE_STATUS_H
#define HONE_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

/* Define HONE_STATIC if libhone.a becomes part of a shared library: hone's functions are then not exported by
 * that library. */
#if defined(HONE_STATIC) && defined(__GNUC__)
#define HONE_API __attribute__((visibility("hidden")))
#elif defined(__GNUC__)
#define HONE_API __attribute__((visibility("default")))
#else
#define HONE_API
#endif

/** The result of a call. Zero is success. The values are part of the ABI and never change their meaning. */
typedef enum hone_status {
    HONE_OK = 0,
    HONE_ERROR_USAGE = 1, /**< an argument, chain or option is wrong; the message says what would be right */
    HONE_ERROR_IO = 2,    /**< a file could not be read or written */
    HONE_ERROR_NO_DEVICE = 3,   /**< no OpenCL device matches the request */
    HONE_ERROR_DEVICE = 4,      /**< an OpenCL call failed; cl_code has its error code */
    HONE_ERROR_MEMORY = 5,      /**< out of host memory, or over the memory budget of a device */
    HONE_ERROR_UNSUPPORTED = 6, /**< valid, but not possible with this device, format or build */
    HONE_ERROR_CHECK = 7,       /**< a comparison or self-test failed */
    HONE_ERROR_INTERNAL = 8     /**< a bug in hone: please report it */
} hone_status;

/**
 * The details of one failure.
 *
 * Functions write to it only when they fail. It needs no initialization, and NULL is always allowed in its
 * place. Ownership: the caller's, for example on the stack.
 * Threads: do not share one between threads without a lock.
 */
typedef struct hone_error {
    hone_status status; /**< same as the return value */
    int cl_code;        /**< OpenCL error code (negative), or 0 if OpenCL was not involved */
    int column;         /**< for a chain or expression: 1-based column of the error, else 0 */
    char message[1024]; /**< one line without newline: what was wrong, where, and what would be right */
    char log[4096];     /**< if a kernel did not build: the start of the compiler's output, else "" */
} hone_error;

/** The name of a status, such as "HONE_ERROR_IO". Static, never NULL. Threads: safe. */
HONE_API const char *hone_status_name(hone_status status);

/** The name of an OpenCL error code, such as "CL_INVALID_WORK_GROUP_SIZE", or "unknown OpenCL error". Static,
 *  never NULL. Threads: safe. */
HONE_API const char *hone_cl_error_name(int cl_code);

#ifdef __cplusplus
}
#endif
#endif
