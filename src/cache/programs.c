/* SPDX-License-Identifier: BSD-2-Clause */
#include "cache/programs.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "cache/disk.h"
#include "cache/entry.h"
#include "cache/precompiled.h"
#include "cl/device.h"
#include "cl/drivercache.h"
#include "cl/selftest.h"
#include "hone/version.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const uint64_t programs_disk_limit = 256u << 20;
static bool retry_crashed;

/* A program in memory. While `building`, other threads that want it wait. */
struct held {
    char name[SHA256_TEXT_SIZE];
    struct program *program;
    bool building;
    struct disk_busy busy; /* built or loaded, and not known to have run */
    struct held *next;
};

struct store {
    struct hone_device *device;
    pthread_mutex_t lock; /* over what is held */
    pthread_cond_t changed;
    struct held *held;
    struct disk disk;
    bool disk_works, full;    /* full: nothing more is written */
    pthread_mutex_t entering; /* over what follows: it is held while other processes are waited for */
    unsigned lock_users; /* threads that build now; the first takes the lock between processes, the last gives
                            it back */
    bool lock_taken;
};

static hone_status make_store(struct hone_device *device, void **object, hone_error *error)
{
    hone_error why;
    struct store *store = mem_new(1, sizeof *store);
    if (!store)
        return error_memory(error, "the program store");
    store->device = device;
    store->disk = (struct disk){.folder = -1, .lock = -1};
    pthread_mutex_init(&store->lock, NULL);
    pthread_mutex_init(&store->entering, NULL);
    pthread_cond_init(&store->changed, NULL);
    if (device_is_pocl(device) && driver_cache_moved()) {
        store->full = true;
        device_log(device, HONE_LOG_WARNING, "%s", driver_cache_moved());
    }
    if (device_uses_disk(device)) {
        store->disk_works = disk_open(&store->disk, &why) == HONE_OK;
        store->disk.device = device;
        if (!store->disk_works)
            device_log(device, HONE_LOG_WARNING, "compiled programs are not kept on disk: %s", why.message);
    }
    *object = store;
    return HONE_OK;
}

/* The device has finished all that it was given: what was built before has run. */
static void settle_marks(void *object)
{
    struct store *store = object;
    pthread_mutex_lock(&store->lock);
    for (struct held *held = store->held; held; held = held->next)
        if (!held->building && held->busy.fd >= 0) {
            disk_forgive(&store->disk, held->name);
            disk_clear_busy(&held->busy);
        }
    pthread_mutex_unlock(&store->lock);
}

static void destroy_store(void *object)
{
    struct store *store = object;
    device_when_finished(store->device, settle_marks, NULL);
    while (store->held) {
        struct held *held = store->held;
        store->held = held->next;
        disk_clear_busy(&held->busy);
        program_destroy(&held->program);
        free(held);
    }
    disk_close(&store->disk);
    pthread_cond_destroy(&store->changed);
    pthread_mutex_destroy(&store->lock);
    pthread_mutex_destroy(&store->entering);
    free(store);
}

static const char store_key;

static hone_status store_of(struct hone_device *device, struct store **store, hone_error *error)
{
    void *object = NULL;
    hone_status status = device_attachment(device, &store_key, make_store, destroy_store, &object, error);
    *store = object;
    return status;
}

/* Everything that changes the binary, a line each; the file's name is the digest of it. */
static hone_status describe(const struct hone_device *device, const struct program_unit *unit,
                            struct text *key, char name[SHA256_TEXT_SIZE], hone_error *error)
{
    char source[SHA256_TEXT_SIZE];
    sha256_text_of(unit->source, strlen(unit->source), source);
    text_add(key, "hone %s program %d\n%s\n", HONE_VERSION, ENTRY_FORMAT, unit->label);
    device_identity(device, key);
    text_add(key, "%s\n%s\n", unit->options, source);
    if (key->failed)
        return error_memory(error, "the key of a program");
    sha256_text_of(key->data, key->length, name);
    return HONE_OK;
}

hone_status programs_digest(const struct hone_device *device, const struct program_unit *unit,
                            char digest[65], hone_error *error)
{
    struct text key = {0};
    hone_status status = describe(device, unit, &key, digest, error);
    text_finish(&key);
    return status;
}

static struct held *find_held(struct store *store, const char *name)
{
    struct held *held = store->held;
    while (held && strcmp(held->name, name) != 0)
        held = held->next;
    return held;
}

bool programs_kept(struct hone_device *device, const char digest[65])
{
    struct store *store = NULL;
    if (store_of(device, &store, NULL) != HONE_OK)
        return false;
    pthread_mutex_lock(&store->lock);
    const bool in_memory = find_held(store, digest) != NULL;
    pthread_mutex_unlock(&store->lock);
    return in_memory || (store->disk_works && (disk_has(&store->disk, digest) || precompiled_has(digest)));
}

static void forget(struct store *store, struct held *held)
{
    struct held **slot = &store->held;
    while (*slot != held)
        slot = &(*slot)->next;
    *slot = held->next;
    free(held);
}

/* Returns the program's place: with a program in it, or marked as building for the caller to fill. */
static struct held *claim(struct store *store, const char *name)
{
    struct held *held;
    pthread_mutex_lock(&store->lock);
    while ((held = find_held(store, name)) && held->building)
        pthread_cond_wait(&store->changed, &store->lock);
    if (!held && (held = mem_new(1, sizeof *held))) {
        snprintf(held->name, sizeof held->name, "%s", name);
        held->building = true;
        held->busy = DISK_IDLE;
        held->next = store->held;
        store->held = held;
    }
    pthread_mutex_unlock(&store->lock);
    return held;
}

static void settle(struct store *store, struct held *held)
{
    pthread_mutex_lock(&store->lock);
    held->building = false;
    if (!held->program)
        forget(store, held);
    pthread_cond_broadcast(&store->changed);
    pthread_mutex_unlock(&store->lock);
}

static bool enter_disk(struct store *store)
{
    pthread_mutex_lock(&store->entering);
    if (store->disk_works && store->lock_users++ == 0)
        store->lock_taken = disk_lock(&store->disk);
    bool usable = store->disk_works && store->lock_taken;
    pthread_mutex_unlock(&store->entering);
    return usable;
}

static void leave_disk(struct store *store)
{
    pthread_mutex_lock(&store->entering);
    if (store->disk_works && --store->lock_users == 0) {
        disk_unlock(&store->disk);
        store->lock_taken = false;
    }
    pthread_mutex_unlock(&store->entering);
}

/* One build of one unit. */
struct job {
    struct store *store;
    const struct program_unit *unit;
    const char *key, *name, *kernel;
    struct disk_busy *busy;
    enum disk_mark mark;
};

/* Where the driver keeps what it compiles, an entry has no binary: asking PoCL for one makes it compile each
 * kernel once more, for any work-group. This is the key of such an entry, good as long as the driver uses
 * that folder, which lies beside the entry's. Empty: the driver keeps nothing. */
static void kept_key(const struct job *job, struct text *key)
{
    const char *folder = device_is_pocl(job->store->device) ? driver_cache_kept() : NULL;
    if (folder)
        text_add(key, "%skept by the driver in folder %s\n", job->key, folder);
}

static bool load_kept(const struct job *job, const struct text *bytes, struct program **program)
{
    struct text key = {0};
    kept_key(job, &key);
    const bool ok = key.length > 0 && !key.failed &&
                    entry_decode(bytes->data, bytes->length, key.data, NULL, NULL, NULL) &&
                    program_from_driver(program, job->store->device, job->unit->source, job->unit->options,
                                        NULL) == HONE_OK;
    text_finish(&key);
    return ok;
}

static bool load_binary(const struct job *job, const struct text *bytes, struct program **program)
{
    const void *binary = NULL;
    size_t count = 0;
    return entry_decode(bytes->data, bytes->length, job->key, NULL, &binary, &count) &&
           program_from_binary(program, job->store->device, binary, count, job->unit->options, NULL) ==
               HONE_OK;
}

static bool make_kernel(const struct job *job, struct program **program, struct kernel **kernel)
{
    if (kernel_create(kernel, *program, job->kernel, NULL) == HONE_OK) {
        device_count_disk_load(job->store->device);
        return true;
    }
    program_destroy(program);
    return false;
}

static bool load(const struct job *job, struct program **program, struct kernel **kernel)
{
    struct text bytes = {0};
    const bool there = job->mark == DISK_CLEAN && disk_read(&job->store->disk, job->name, &bytes);
    const bool ok = there && (load_kept(job, &bytes, program) || load_binary(job, &bytes, program)) &&
                    make_kernel(job, program, kernel);
    if (there && !ok)
        disk_remove(&job->store->disk, job->name); /* damaged, or refused by the driver: built again */
    text_finish(&bytes);
    return ok;
}

static hone_status make_entry(const struct job *job, const struct program *program, struct text *file,
                              hone_error *why)
{
    struct text binary = {0}, key = {0};
    hone_status status = HONE_OK;
    kept_key(job, &key);
    if (key.length > 0)
        entry_encode(file, text_view(&key), "", 0);
    else if (!(status = program_binary(program, &binary, why)))
        entry_encode(file, job->key, binary.data, binary.length);
    if (!status && (key.failed || file->failed))
        status = error_memory(why, "a cache entry");
    text_finish(&binary);
    text_finish(&key);
    return status;
}

static void save(const struct job *job, const struct program *program)
{
    struct text file = {0};
    hone_error why;
    hone_status status = make_entry(job, program, &file, &why);
    THEN(status, disk_write(&job->store->disk, job->name, &file, &why));
    if (!status) {
        disk_trim(&job->store->disk, programs_disk_limit);
    } else if (status != HONE_ERROR_UNSUPPORTED) {
        job->store->full = true;
        device_log(job->store->device, HONE_LOG_WARNING, "compiled programs are not kept on disk: %s",
                   why.message);
    }
    text_finish(&file);
}

/* What was compiled at hone's installation. */
static bool load_precompiled(const struct job *job, struct program **program, struct kernel **kernel)
{
    const struct program_unit *unit = job->unit;
    const bool ok =
        job->mark == DISK_CLEAN && device_is_pocl(job->store->device) && precompiled_take(job->name) &&
        program_from_driver(program, job->store->device, unit->source, unit->options, NULL) == HONE_OK &&
        make_kernel(job, program, kernel);
    if (ok && !job->store->full)
        save(job, *program);
    return ok;
}

/* There is room: build() has looked. */
static hone_status compile(const struct job *job, bool keep, struct program **program, struct kernel **kernel,
                           hone_error *error)
{
    hone_device *device = job->store->device;
    device_count_source_build(device);
    hone_status status = program_from_driver(program, device, job->unit->source, job->unit->options, error);
    THEN(status, kernel_create(kernel, *program, job->kernel, error));
    if (status) {
        program_destroy(program);
        error_prefix(error, "building %s", job->unit->label);
    } else if (keep && !job->store->full) {
        save(job, *program); /* after the kernels: some drivers compile only when they are made */
    }
    return status;
}

static hone_status refuse(const struct job *job, hone_error *error)
{
    const char *how =
        job->mark == DISK_CRASHED_TWICE
            ? "ended the process twice with this driver; `hone cache clear` allows a new try"
            : "was under way in each of four processes that were ended today; tomorrow, or after "
              "`hone cache clear`, it is tried again";
    return error_unsupported(error, "building %s %s", job->unit->label, how);
}

static hone_status build(struct job *job, struct program **program, struct kernel **kernel, hone_error *error)
{
    hone_status status =
        program_check_room(job->store->device, false, error); /* PoCL writes what it keeps anew */
    if (status)
        return status;
    bool disk = enter_disk(job->store);
    job->mark = disk ? disk_get_mark(&job->store->disk, job->name) : DISK_CLEAN;
    if (job->mark >= DISK_CRASHED_TWICE && !retry_crashed) {
        status = refuse(job, error);
    } else {
        if (disk)
            *job->busy = disk_set_busy(&job->store->disk, job->name);
        if (!disk || (!load(job, program, kernel) && !load_precompiled(job, program, kernel)))
            status = compile(job, disk, program, kernel, error);
        if (status)
            disk_clear_busy(job->busy);
    }
    leave_disk(job->store);
    return status;
}

void programs_retry_crashed(void)
{
    retry_crashed = true;
}

void programs_take_back(void)
{
    disk_take_back();
}

void programs_blame(void)
{
    disk_blame();
    selftest_blame();
}

hone_status programs_kernel(struct kernel **out, struct hone_device *device, const struct program_unit *unit,
                            const char *kernel, hone_error *error)
{
    struct store *store = NULL;
    struct text key = {0};
    char name[SHA256_TEXT_SIZE];
    *out = NULL;
    hone_status status = store_of(device, &store, error);
    THEN(status, describe(device, unit, &key, name, error));
    struct held *held = status ? NULL : claim(store, name);
    if (!status && !held)
        status = error_memory(error, "a program");
    if (!status && !held->building) {
        device_count_memory_hit(device);
        status = kernel_create(out, held->program, kernel, error);
    } else if (!status) {
        struct job job = {.store = store,
                          .unit = unit,
                          .key = key.data,
                          .name = name,
                          .kernel = kernel,
                          .busy = &held->busy};
        status = build(&job, &held->program, out, error);
        settle(store, held);
        device_when_finished(device, settle_marks, store);
    }
    text_finish(&key);
    return status;
}
