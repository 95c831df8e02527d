/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * An OpenCL layer that fails calls, counts objects, and surrounds buffers with pages that nobody may touch.
 *
 * Load it with OPENCL_LAYERS=.../liblayer.so (ocl-icd 2.3 or later). Environment:
 *
 *   LAYER_REPORT=FILE   where the report goes at exit; without it there is none
 *   LAYER_FAIL=N        fail the N-th call that can fail (from 1)
 *   LAYER_ONLY=clA,clB  count (and fail) only these calls
 *   LAYER_SITE=OFFSET   count only calls from this place of the program (hexadecimal, as the report shows it)
 *   LAYER_DEVICE=1      count (and fail) only calls about this device, of all that the loader lists (from 0)
 *   LAYER_STICKY=1      fail all later ones, too: the device is lost
 *   LAYER_CODE=-5       fail with this code; default: one that fits the call
 *   LAYER_SLEEP=9       instead of failing, take that many seconds: the device hangs
 *   LAYER_REFUSE=NAME   every launch of this kernel fails
 *   LAYER_EAT=NAME      every launch of this kernel takes memory, up to 4 GB, and does not return
 *   LAYER_KEEP=1        memory objects are never really released, so that none begins where another one was:
 *                       Oclgrind 21.10 mistakes the new one's bytes for the old one's, and calls what lies
 *                       beyond uninitialised
 *   LAYER_GUARD=end     buffers that the driver would allocate end at a page that cannot be touched; begin:
 *                       begin behind one; turns: by turns, those that end there with the poison's highest bit
 *                       changed. Only for devices that work on host memory
 *   LAYER_POISON=0x5a   what fresh buffers of guarded memory hold (default 0x5a)
 *   LAYER_WHOLE_ROWS=1  rectangles whose last row has no room for its padding are refused, as by NVIDIA's
 *                       driver; 2: all rectangles
 *   LAYER_CLOCK=50      time stamps count that many times too slowly
 *   LAYER_OPTIONS=TEXT  added to the options of every build: with "-cl-opt-disable" PoCL takes a tenth of
 *                       the time
 *
 * The report has a line for each fact:
 *
 *   calls NUMBER COUNTABLE          all calls; those that were candidates for failing
 *   site NAME OFFSET NUMBER         calls of NAME from that place of the program
 *   kernel NAME NUMBER              launches of a kernel
 *   copy NAME NUMBER BYTES          calls that copied, and how much
 *   failed NAME NUMBER OFFSET       an injected failure (the first one, when sticky)
 *   leak KIND NAME NUMBER           an object that was never released, made by call NAME
 *   over KIND NAME                  a release of something that is not there
 *   damage BYTES                    a buffer's surroundings were written to
 */
#ifndef TESTS_LAYER_H
#define TESTS_LAYER_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_1_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS
#include <CL/cl_layer.h>

#include <stdbool.h>
#include <stddef.h>

enum layer_kind {
    LAYER_CONTEXT,
    LAYER_QUEUE,
    LAYER_MEMORY,
    LAYER_PROGRAM,
    LAYER_KERNEL,
    LAYER_SAMPLER,
    LAYER_EVENT,
    LAYER_DEVICE, /* sub-devices; releasing a whole device means nothing */
    LAYER_SHARED, /* shared virtual memory */
    LAYER_NONE
};

/* ---- Generated from CL/cl_icd.h by generate.py ---- */

extern const char *const layer_call_names[];
extern const int layer_call_count;
/* Puts the wrappers into a table that starts as a copy of the driver's. */
void layer_fill(cl_icd_dispatch *table);

/* ---- For the generated wrappers ---- */

/* The next table in the chain: the driver's own, or another layer's. */
extern const cl_icd_dispatch *layer_target;

/* Counts a call; true when it is to fail. `site` is where it came from, `object` what it is about; NULL:
 * nothing. */
bool layer_enter(int call, bool countable, const void *site, enum layer_kind kind, const void *object);
/* The code to fail with. */
cl_int layer_code(cl_int fitting);
void layer_made(enum layer_kind kind, const void *object, int call);
void layer_retained(enum layer_kind kind, const void *object);
void layer_releasing(enum layer_kind kind, const void *object, int call);

/* Counts launches by the kernel's name; false when it is to be refused. */
bool layer_launched(cl_kernel kernel);

/* Counts a command that the caller wants to wait for. */
void layer_blocks(cl_bool blocking);

/* Counts a call that copies. */
void layer_copied(int call, size_t bytes);
size_t layer_image_bytes(cl_mem image, const size_t *region);

/* ---- For tests in the same process ---- */

/* How often a call copied so far, and how many bytes (0 where there is no such call). */
long layer_copies(const char *name, unsigned long *bytes);

/* How often it was called so far; NULL: how often a command was enqueued to be waited for. Only calls that
 * can fail. */
long layer_calls(const char *name);

/* How many events were made so far. */
long layer_events(void);

/* Makes the N-th call of these from now on (clA,clB) fail, and with `sticky` all calls after that; NULL: no
 * more. The text stays the caller's. */
void layer_fail(const char *names, long number, bool sticky);

/* ---- For the generated wrappers, again ---- */

/* Whether a rectangle is to be refused: with the padding of its last row it ends beyond the buffer. */
bool layer_beyond(cl_mem buffer, const size_t *origin, const size_t *region, size_t pitch);

/* Slows a time stamp down where that is asked for; `value` may be NULL. */
void layer_stamped(cl_profiling_info what, void *value);

/* clBuildProgram with the options that are asked for. */
cl_int layer_build_program(cl_program program, cl_uint count, const cl_device_id *devices,
                           const char *options, void(CL_CALLBACK *notify)(cl_program, void *), void *data);

/* clCreateBuffer with guard pages where they are asked for. */
cl_mem layer_create_buffer(cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *code);

#endif
