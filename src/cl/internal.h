/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared inside src/cl only. This header and the sources beside it are the one place that includes
 * CL/cl.h. */
#pragma once

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>

#include "base/error.h"
#include "cl/device.h"
#include "cl/memory.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

/* Fills error with "what: NAME (code)" and gives the status that fits the code. */
hone_status cl_failed(hone_error *error, cl_int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Entry points of extensions; NULL where missing. Looked up once per device. */
struct extension_calls {
    cl_mem(CL_API_CALL *create_from_egl_image)(cl_context, void *, void *, cl_mem_flags, const intptr_t *,
                                               cl_int *);
    cl_int(CL_API_CALL *acquire_egl)(cl_command_queue, cl_uint, const cl_mem *, cl_uint, const cl_event *,
                                     cl_event *);
    cl_int(CL_API_CALL *release_egl)(cl_command_queue, cl_uint, const cl_mem *, cl_uint, const cl_event *,
                                     cl_event *);
};

struct attachment {
    const void *key;
    void *object;
    void (*destroy)(void *object);
    struct attachment *next;
};

/* See device_waits. */
struct waited {
    unsigned threads;
    uint64_t since, ns;
};

struct hone_device {
    hone_device_info info;
    pid_t process;     /* that opened it; see device_check */
    atomic_uint users; /* its opener, and the plans, images and events made on it */
    char *extensions;  /* all of them, as the driver lists them */
    cl_platform_id platform;
    cl_device_id id;
    bool is_sub_device;
    cl_context context;
    cl_command_queue queue;
    bool is_foreign;                    /* the queue is the caller's */
    _Atomic(cl_command_queue) lanes[2]; /* in order, for uploads and downloads; NULL: none were asked for */
    bool profile, profile_ends, out_of_order, no_disk;
    bool host_clock; /* see device_use_host_clock */
    char *kernel_folder;
    hone_log_function log;
    void *log_user;
    struct extension_calls calls;
    uint64_t memory_held, memory_budget;
    hone_device_counts counts;
    pthread_mutex_t lock; /* attachments, counts, memory */
    pthread_mutex_t attachment_lock;
    struct attachment *attachments;
    _Atomic(void *) finished_object; /* of device_when_finished; NULL: nobody waits */
    void (*_Atomic finished)(void *object);
    struct hone_device *left; /* see device_leave_contexts */
    struct waited waited;
};

/* What is known of a command beside its event. */
struct command_note {
    hone_command_kind kind;
    char name[64]; /* of a kernel */
    size_t step;
    uint64_t bytes, enqueued;
    hone_times host; /* where the host's clock is used */
};

/* The last command of a sequence, which is waited for, and those before it on devices that profile. */
struct hone_event {
    cl_event command;
    struct hone_event *before;
    struct hone_device *device;
    struct command_note note;
};

/* platform.c */
struct found_device {
    cl_platform_id platform;
    cl_device_id id;
    char platform_name[128];
};
hone_status platform_find_devices(struct found_device **list, size_t *count, hone_error *error);
hone_status platform_describe(cl_platform_id platform, cl_device_id id, hone_device_info *info,
                              char **extensions, hone_error *error);
void platform_text(cl_platform_id platform, cl_platform_info what, char *to, size_t size);
/* Asks a text property; *text is "" when the device does not know it. NULL only when memory is short. */
char *platform_device_text(cl_device_id id, cl_device_info what);

/* vendor.c */
void vendor_describe(cl_device_id id, const char *extensions, hone_device_info *info);
void vendor_find_calls(struct hone_device *device);
/* Adds what the performance hint needs to a zero-terminated property list with room for two more. */
void vendor_context_properties(cl_device_id id, const char *extensions, hone_performance hint,
                               cl_context_properties *properties);
hone_status vendor_import(struct hone_device *device, const hone_external *external, size_t bytes,
                          cl_mem *object, hone_error *error);

/* lanes.c */
cl_command_queue lane_queue(const struct hone_device *device, enum lane lane);
cl_int lanes_finish(const struct hone_device *device);
void lanes_release(struct hone_device *device);

/* program.c */
struct kernel;
cl_kernel kernel_cl(const struct kernel *kernel);

/* budget.c */
uint64_t budget_for(const hone_device_info *info, uint64_t limit);

/* event.c: takes over one reference of `event`, a command of hone's whose enqueuing began at `begun`
 * (clock_ns). On failure the reference is released. */
hone_status event_made(hone_event **out, struct hone_device *device, cl_event event,
                       const struct command_note *note, uint64_t begun, hone_error *error);
/* HONE_ERROR_USAGE for no event, or where not all other arguments are `there`. */
hone_status event_check(const hone_event *event, bool there, const char *call, const char *needs,
                        hone_error *error);

/* times.c */
hone_command_kind command_kind_of(cl_event event);

/* The events of a wait list as OpenCL wants them. finish frees; a list of 0 gives NULL. */
struct cl_waits {
    cl_event fixed[8];
    cl_event *events; /* NULL when count is 0 */
    cl_uint count;
    uint64_t begun; /* clock_ns */
};
hone_status waits_init(struct cl_waits *waits, struct wait_list list, hone_error *error);
void waits_finish(struct cl_waits *waits);
