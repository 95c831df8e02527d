/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * OpenCL devices: what there is, choosing one, opening it.
 */
#ifndef HONE_DEVICE_H
#define HONE_DEVICE_H

#include "hone/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** An open device: a context, a command queue, compiled programs and a memory budget.
 *  Threads: any number of threads may use one device at the same time. */
typedef struct hone_device hone_device;

typedef enum hone_device_kind {
    HONE_DEVICE_CPU = 0,
    HONE_DEVICE_GPU = 1,
    HONE_DEVICE_ACCELERATOR = 2,
    HONE_DEVICE_OTHER = 3
} hone_device_kind;

/** What OpenCL says of a device, as far as it matters to kernels. Plain data; sizes in bytes unless said otherwise. */
typedef struct hone_device_info {
    unsigned index; /**< The number that `hone devices` shows and a device spec takes. */
    hone_device_kind kind;
    char name[256], vendor[128], platform[128], platform_version[256];
    char driver_version[128], device_version[256], c_version[128];
    char architecture[64]; /**< "sm_90", "gfx1030" ... where a vendor extension tells; the target of
                                  PoCL's compiler; else "". */
    char board[128];       /**< Marketing name where it differs from `name` (AMD), else "". */
    unsigned version;      /**< OpenCL version of the device times 100: 120, 200, 300. */
    unsigned compute_units, clock_mhz, address_bits;
    unsigned vendor_id;
    unsigned simd_width;          /**< Warp or wavefront width where a vendor extension tells, else 0. */
    unsigned registers_per_group; /**< 32-bit registers a work-group can have (NVIDIA), else 0. */
    uint64_t global_memory, max_allocation, global_cache, local_memory, constant_memory;
    unsigned cache_line;
    bool local_memory_is_dedicated; /**< false: local memory is ordinary memory (CPUs) */
    bool unified_memory;            /**< host and device share memory */
    bool images;
    size_t image_width, image_height; /**< largest 2D image, pixels */
    size_t max_work_group, max_work_items[3];
    unsigned base_align; /**< alignment of buffers */
    bool fp16, fp64;     /**< as listed by the driver; NVIDIA offers operators of half without listing them */
    bool subgroups, svm_coarse, svm_fine, out_of_order;
    unsigned max_sub_devices;  /**< 0 or 1: cannot be partitioned */
    uint64_t timer_resolution; /**< nanoseconds */
    char used_extensions[512]; /**< those extensions of the device that hone knows to use, separated by spaces */
} hone_device_info;

/** "cpu", "gpu", "accelerator", "other". Static. */
HONE_API const char *hone_device_kind_name(hone_device_kind kind);

/**
 * Lists the devices of all platforms, in the order of their index. *list is freed with hone_device_list_free.
 * No device at all is HONE_OK with *count 0. A platform or device that answers no questions is left out; the others
 * keep their index. The first call of a process sets POCL_CACHE_DIR to a folder of hone's own unless it is set already
 * or HONE_KEEP_ENVIRONMENT is: PoCL's shared folder breaks when processes start together. Threads: safe, except that
 * (for that reason) no other thread may call getenv/setenv during the first call.
 */
HONE_API hone_status hone_device_list(hone_device_info **list, size_t *count, hone_error *error);
HONE_API void hone_device_list_free(hone_device_info **list);

typedef enum hone_log_level { HONE_LOG_WARNING = 0, HONE_LOG_INFO = 1, HONE_LOG_DEBUG = 2 } hone_log_level;
/** Receives messages that are no errors (a cache that is not used, a device that was passed over), one line each.
 *  May be called from any thread that uses the device. */
typedef void (*hone_log_function)(void *user, hone_log_level level, const char *message);

/** A hint to mobile GPUs (cl_qcom_perf_hint); others ignore it. */
typedef enum hone_performance {
    HONE_PERFORMANCE_DEFAULT = 0,
    HONE_PERFORMANCE_HIGH = 1,
    HONE_PERFORMANCE_NORMAL = 2,
    HONE_PERFORMANCE_LOW = 3
} hone_performance;

/** How to open a device. All zero is right for most. Strings are copied. */
typedef struct hone_device_request {
    /** "auto", a number of hone_device_list, "cpu", "gpu", "accelerator", or part of a device or platform name (letters
     *  compared without case). A comma-separated list is tried from left to right. NULL: the environment variable
     *  HONE_DEVICE, and without that "auto": GPUs before accelerators before CPUs, more compute units and clock
     *  first, devices that failed the self-test last. */
    const char *spec;
    bool profile;           /**< Commands carry time stamps (hone_event_times). */
    bool out_of_order;      /**< Use an out-of-order queue where the device has one. */
    bool no_disk_cache;     /**< Neither read nor write compiled programs and verdicts on disk. */
    unsigned compute_units; /**< Use only so many (a sub-device); 0: all. HONE_ERROR_UNSUPPORTED where impossible. */
    hone_performance performance;
    const char *kernel_folder; /**< Build kernels from this folder (laid out like src/) instead of those compiled in.
                                    NULL: the environment variable HONE_KERNEL_DIR, else those compiled in. */
    uint64_t memory_limit;     /**< Never hold more device memory than this, bytes; 0: the budget of
                                    hone_device_memory. */
    hone_log_function log;
    void *log_user;
} hone_device_request;

/** Opens a device. request may be NULL. HONE_ERROR_NO_DEVICE says what there is, or what to install.
 *  *out is to be closed with hone_device_close. */
HONE_API hone_status hone_device_open(hone_device **out, const hone_device_request *request, hone_error *error);

/** Closes a device; *device becomes NULL, NULL is fine. Plans, images and events of the device must be destroyed
 *  before. */
HONE_API void hone_device_close(hone_device **device);

/** The facts about an open device; valid until it is closed. */
HONE_API const hone_device_info *hone_device_get_info(const hone_device *device);

/** One finding of the self-test that hone runs on a device before it relies on it (at most two seconds, remembered per
 *  driver version). Strings are static. */
typedef struct hone_feature_info {
    const char *name, *meaning;
    const char *without; /**< what it means that it does not hold */
    bool required;       /**< without it results cannot be trusted: the device is chosen last */
    bool holds;
} hone_feature_info;

/** Fills *out with finding `index` (from 0) and returns true, or returns false beyond the last. The first question may
 *  run the test. */
HONE_API bool hone_device_feature(hone_device *device, size_t index, hone_feature_info *out);

/** Runs the self-test again and replaces what was remembered; *milliseconds (may be NULL) gets how long it took. A
 *  driver may end the process here: then the next test leaves out what did it. Threads: no other thread may use the
 *  device meanwhile. */
HONE_API hone_status hone_device_self_test(hone_device *device, double *milliseconds, hone_error *error);

/** Waits until all that was enqueued on the device is done. */
HONE_API hone_status hone_device_finish(hone_device *device, hone_error *error);

/** Bytes of device memory that hone holds now, and may hold at most: 80 % of the least of the device's memory, the
 *  memory that the host has available and its cgroup's limit (the latter two for devices that share host memory). */
HONE_API void hone_device_memory(const hone_device *device, uint64_t *held, uint64_t *budget);

/** Counters since the device was opened. */
typedef struct hone_device_counts {
    uint64_t built_from_source; /**< programs the driver compiled for us */
    uint64_t loaded_from_disk;  /**< programs that came as binaries from the disk cache */
    uint64_t found_in_memory;   /**< programs that were there already */
} hone_device_counts;
HONE_API hone_device_counts hone_device_get_counts(const hone_device *device);

#ifdef __cplusplus
}
#endif
#endif
