/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * OpenCL devices: listing, selecting and opening them.
 *
 * Environment: the first call in a process that asks OpenCL for devices (only hone_device_list and
 * hone_device_open do) sets the environment variable POCL_CACHE_DIR to a private folder of hone's. PoCL has
 * no other setting for it, and its shared folder breaks if processes start at the same time. Drivers set
 * variables of their own then (PoCL: HWLOC_PLUGINS_PATH). As with any setenv(), no other thread may change
 * the environment during that call. Other threads may read it. The variable is left alone if it already names
 * a folder that is not hone's, or if HONE_KEEP_ENVIRONMENT is set to any value.
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

/**
 * An open device: a context, a command queue, compiled programs and a memory budget.
 *
 * Threads: any number of threads may use one device at the same time.
 * Processes: a device and all objects made on it belong to the process that opened it. In a forked child,
 * functions that use them return HONE_ERROR_USAGE, and functions that destroy them only set the pointer to
 * NULL. The child cannot open another device either if its parent has listed or opened devices. Fork before
 * that, or exec.
 */
typedef struct hone_device hone_device;

/** The kind of a device. */
typedef enum hone_device_kind {
    HONE_DEVICE_CPU = 0,
    HONE_DEVICE_GPU = 1,
    HONE_DEVICE_ACCELERATOR = 2,
    HONE_DEVICE_OTHER = 3
} hone_device_kind;

/** The properties of a device that matter to kernels. Plain data; sizes are in bytes unless noted. */
typedef struct hone_device_info {
    unsigned index; /**< the number that `hone devices` shows and hone_device_request.spec accepts */
    hone_device_kind kind;
    char name[256], vendor[128], platform[128], platform_version[256];
    char driver_version[128], device_version[256], c_version[128];
    /** "sm_90", "gfx1030" ... if a vendor extension reports it; the target of PoCL's compiler; else "". */
    char architecture[64];
    char board[128];  /**< marketing name if it differs from `name` (AMD), else "" */
    unsigned version; /**< OpenCL version of the device times 100: 120, 200, 300 */
    unsigned compute_units;
    unsigned clock_mhz; /**< 0 if the driver does not tell */
    unsigned address_bits;
    unsigned vendor_id;
    unsigned simd_width;          /**< warp or wavefront width if a vendor extension reports it, else 0 */
    unsigned registers_per_group; /**< 32-bit registers per work-group (NVIDIA), else 0 */
    uint64_t global_memory, max_allocation, global_cache, local_memory, constant_memory;
    unsigned cache_line;
    bool local_memory_is_dedicated; /**< false: local memory is ordinary memory (CPUs) */
    bool unified_memory;            /**< host and device share memory */
    bool images;
    size_t image_width, image_height; /**< largest 2D image, pixels */
    size_t max_work_group, max_work_items[3];
    unsigned base_align; /**< alignment of buffers */
    bool fp16, fp64;     /**< as listed by the driver; NVIDIA supports half precision without listing it */
    bool subgroups, svm_coarse, svm_fine, out_of_order;
    unsigned max_sub_devices;  /**< 0 or 1: cannot be partitioned */
    uint64_t timer_resolution; /**< nanoseconds */
    char used_extensions[512]; /**< the device's extensions that hone can use, separated by spaces */
} hone_device_info;

/** "cpu", "gpu", "accelerator", "other". Static. */
HONE_API const char *hone_device_kind_name(hone_device_kind kind);

/**
 * Lists the devices of all platforms, sorted by index.
 *
 * If there is no device, returns HONE_OK with *count 0. Devices that do not respond to queries are left out;
 * the others keep their index. So are platforms that do not list their devices; those after them have lower
 * indices then. Each query may take 60 seconds, or HONE_DRIVER_TIMEOUT (environment variable; 0: any
 * time). One that takes longer is left to a thread of its own, and what was asked is left out from then on.
 * Errors: HONE_ERROR_DEVICE if the OpenCL loader itself hangs, as it does when a driver hangs while it is
 * loaded. No device can be used in this process then.
 * Ownership: free *list with hone_device_list_free.
 * Threads: safe, except that the first call changes the environment (see the top of this file).
 */
HONE_API hone_status hone_device_list(hone_device_info **list, size_t *count, hone_error *error);
/** Frees a list and sets *list to NULL; *list may be NULL. */
HONE_API void hone_device_list_free(hone_device_info **list);

/** How important a message is. */
typedef enum hone_log_level { HONE_LOG_WARNING = 0, HONE_LOG_INFO = 1, HONE_LOG_DEBUG = 2 } hone_log_level;
/**
 * Receives messages that are not errors (a cache that cannot be used, a device that was skipped), one line
 * each.
 *
 * Threads: may be called from any thread that uses the device.
 */
typedef void (*hone_log_function)(void *user, hone_log_level level, const char *message);

/** A performance hint for mobile GPUs (cl_qcom_perf_hint); other devices ignore it. */
typedef enum hone_performance {
    HONE_PERFORMANCE_DEFAULT = 0,
    HONE_PERFORMANCE_HIGH = 1,
    HONE_PERFORMANCE_NORMAL = 2,
    HONE_PERFORMANCE_LOW = 3
} hone_performance;

/** How to open a device. Zero gives good defaults. Strings are copied. */
typedef struct hone_device_request {
    size_t size; /**< sizeof(hone_device_request), or 0: the members of 0.1. See status.h. */
    /** "auto", an index, "cpu", "gpu", "accelerator", or part of a device or platform name
     *  (case-insensitive). Alternatives, separated by commas, are tried from left to right. NULL: the
     *  environment variable HONE_DEVICE or, without it, "auto": GPUs before accelerators before CPUs, then by
     *  compute units and clock; devices that failed the self-test come last. */
    const char *spec;
    bool profile;       /**< record time stamps (hone_event_times) */
    bool out_of_order;  /**< use an out-of-order queue if the device has one */
    bool no_disk_cache; /**< do not read or write compiled programs and verdicts on disk */
    /** Use only this many (a sub-device); 0: all. HONE_ERROR_UNSUPPORTED if impossible. */
    unsigned compute_units;
    hone_performance performance;
    /** Build kernels from this folder (with the layout of src/) instead of the built-in ones; NULL: the
     *  environment variable HONE_KERNEL_DIR, else the built-in ones. */
    const char *kernel_folder;
    uint64_t memory_limit; /**< maximum device memory to hold, bytes; 0: the budget of hone_device_memory */
    hone_log_function log;
    void *log_user;
    /** With `profile`: of a filter's kernels only the first and the last have time stamps and count as
     *  commands of the event (hone_event_command). What hone_event_times and hone_event_durations tell is
     *  closer to a run without `profile`: stamps keep kernels apart, for 7 microseconds on an NVIDIA H200. */
    bool profile_ends;
} hone_device_request;

/**
 * Opens a device. `request` may be NULL.
 *
 * Devices are listed as by hone_device_list; what is left out because it hangs is logged as a warning. A
 * device named by its index, and the one that is opened, may take any time.
 *
 * Ownership: close *out with hone_device_close.
 * Errors: HONE_ERROR_NO_DEVICE; the message lists the available devices, or says what to install.
 */
HONE_API hone_status hone_device_open(hone_device **out, const hone_device_request *request,
                                      hone_error *error);

/**
 * Closes a device and sets *device to NULL; *device may be NULL.
 *
 * Plans, images and events of the device remain usable. The device is released with the last of them; until
 * then its log function may be called.
 */
HONE_API void hone_device_close(hone_device **device);

/** The properties of an open device. Valid until it is closed. */
HONE_API const hone_device_info *hone_device_get_info(const hone_device *device);

/**
 * One result of the self-test. Strings are static.
 *
 * hone runs the self-test before it relies on a device: at most two seconds, remembered per driver version.
 */
typedef struct hone_feature_info {
    const char *name, *meaning;
    const char *without; /**< the consequence if it does not hold */
    bool required;       /**< without it, results cannot be trusted: the device is chosen last */
    bool holds;
} hone_feature_info;

/** Fills *out with result `index` (from 0) and returns true; returns false past the last. Checks that have
 *  not run on this device yet run now. */
HONE_API bool hone_device_feature(hone_device *device, size_t index, hone_feature_info *out);

/**
 * Runs the self-test again and replaces the remembered results. *milliseconds (may be NULL) gets its
 * duration.
 *
 * A bad driver may end the process here; the next self-test then skips the question that caused it.
 * Threads: no other thread may use the device during the call.
 */
HONE_API hone_status hone_device_self_test(hone_device *device, double *milliseconds, hone_error *error);

/** Waits until all work enqueued on the device is done. */
HONE_API hone_status hone_device_finish(hone_device *device, hone_error *error);

/**
 * The device memory that hone holds, and the most it may hold, in bytes.
 *
 * Unless the request set a limit, the budget is 80 % of the device's memory. If the device shares host
 * memory, it is 80 % of the smallest of that, the available host memory, and the limit of the process's
 * cgroup.
 */
HONE_API void hone_device_memory(const hone_device *device, uint64_t *held, uint64_t *budget);

/** Number of enqueued copy commands, and the bytes of pixels or tables they move. */
typedef struct hone_copies {
    uint64_t count, bytes;
} hone_copies;

/** Copies by kind. A rectangle that a driver refuses counts once for each part it is split into. */
typedef struct hone_copy_counts {
    hone_copies uploads;     /**< from host memory: images, and the constant tables of plans */
    hone_copies downloads;   /**< to host memory */
    hone_copies moves;       /**< between buffers: rows realigned for a variant */
    hone_copies conversions; /**< between buffers and 2D images, for variants that use images */
    /** Mapping and unmapping if device and host share no memory, so that the driver copies. */
    hone_copies maps;
} hone_copy_counts;

/** Counters since the device was opened. A self-test that runs on it counts, too. */
typedef struct hone_device_counts {
    uint64_t built_from_source; /**< programs that the driver compiled */
    uint64_t loaded_from_disk;  /**< programs loaded as binaries from the disk cache */
    uint64_t found_in_memory;   /**< programs that were already in memory */
    hone_copy_counts copies;    /**< including those of checks while plans are created */
} hone_device_counts;
/** The counters of a device. Threads: safe. */
HONE_API hone_device_counts hone_device_get_counts(const hone_device *device);

#ifdef __cplusplus
}
#endif
#endif
