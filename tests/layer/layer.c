/* SPDX-License-Identifier: BSD-2-Clause */
#include "layer.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char *const kind_names[] = {"context", "queue", "memory", "program",       "kernel",
                                         "sampler", "event", "device", "shared-memory", "nothing"};

enum { BUCKETS = 4096, MAX_SITES = 2048, MAX_KERNELS = 256, MAX_CALLS = 256, PAGE = 4096, ALIGN = 128 };

struct object {
    const void *handle;
    enum layer_kind kind;
    int call; /* that made it */
    long references;
    struct object *next;
};

struct site {
    const void *address;
    int call;
    long number;
};

/* What the environment asks for. */
static struct {
    const char *report, *only, *refuse, *eat, *options;
    long fail;
    bool sticky, keep, has_code;
    unsigned sleep;
    enum { GUARD_NONE, GUARD_BEGIN, GUARD_END, GUARD_TURNS } guard;
    long whole_rows, clock, device; /* device -1: any */
    uintptr_t site;
    cl_int code;
    int poison;
} wish;

struct copied {
    long number;
    unsigned long bytes;
};

struct launched {
    char name[64];
    long number;
};

/* What happened; under the lock. */
static struct {
    pthread_mutex_t lock;
    struct object *objects[BUCKETS];
    struct site sites[MAX_SITES];
    int site_count;
    struct launched launched[MAX_KERNELS];
    int launched_count;
    struct copied copied[MAX_CALLS];
    long calls, countable, blocking, events, over, damaged;
    int failed_call; /* -1: none */
    uintptr_t failed_site;
    long failed_number;
} seen = {.lock = PTHREAD_MUTEX_INITIALIZER, .failed_call = -1};

const cl_icd_dispatch *layer_target;
static cl_icd_dispatch table;

/* ---- Counting and failing ---- */

/* Where in its file a piece of code lies: the same in every run. */
static uintptr_t offset_of(const void *address)
{
    Dl_info info;
    return dladdr(address, &info) ? (uintptr_t)address - (uintptr_t)info.dli_fbase : (uintptr_t)address;
}

static bool listed(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = list; (at = strstr(at, name)); at += length)
        if ((at == list || at[-1] == ',') && (at[length] == '\0' || at[length] == ','))
            return true;
    return false;
}

static void note_site(int call, const void *address)
{
    int i = 0;
    while (i < seen.site_count && (seen.sites[i].address != address || seen.sites[i].call != call))
        i++;
    if (i == MAX_SITES)
        return;
    seen.site_count += i == seen.site_count;
    seen.sites[i].address = address;
    seen.sites[i].call = call;
    seen.sites[i].number++;
}

/* ---- Of one device ---- */

/* NULL: not known. */
static cl_device_id device_in(cl_context context)
{
    cl_device_id devices[16] = {NULL};
    if (context)
        layer_target->clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof devices, devices, NULL);
    return devices[0];
}

static cl_device_id device_of(enum layer_kind kind, const void *object)
{
    cl_context context = NULL;
    const size_t bytes = sizeof context;
    void *const handle = (void *)(uintptr_t)object;
    switch (kind) {
    case LAYER_DEVICE:
        return handle;
    case LAYER_CONTEXT:
        return device_in(handle);
    case LAYER_QUEUE:
        layer_target->clGetCommandQueueInfo(handle, CL_QUEUE_CONTEXT, bytes, &context, NULL);
        break;
    case LAYER_MEMORY:
        layer_target->clGetMemObjectInfo(handle, CL_MEM_CONTEXT, bytes, &context, NULL);
        break;
    case LAYER_PROGRAM:
        layer_target->clGetProgramInfo(handle, CL_PROGRAM_CONTEXT, bytes, &context, NULL);
        break;
    case LAYER_KERNEL:
        layer_target->clGetKernelInfo(handle, CL_KERNEL_CONTEXT, bytes, &context, NULL);
        break;
    case LAYER_EVENT:
        layer_target->clGetEventInfo(handle, CL_EVENT_CONTEXT, bytes, &context, NULL);
        break;
    default:
        break;
    }
    return device_in(context);
}

static cl_device_id find_wished_device(void)
{
    enum { MOST = 16 };
    cl_platform_id platforms[MOST];
    cl_uint platform_count = 0, before = 0;
    if (layer_target->clGetPlatformIDs(MOST, platforms, &platform_count) != CL_SUCCESS)
        return NULL;
    for (cl_uint i = 0; i < platform_count && i < MOST; i++) {
        cl_device_id devices[MOST];
        cl_uint count = 0;
        if (layer_target->clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, MOST, devices, &count) !=
            CL_SUCCESS)
            continue;
        if ((cl_uint)wish.device < before + count)
            return devices[(cl_uint)wish.device - before];
        before += count;
    }
    return NULL;
}

static cl_device_id wished_device;

static void look_for_device(void)
{
    wished_device = find_wished_device();
}

static bool is_of_device(enum layer_kind kind, const void *object)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (wish.device < 0)
        return true;
    pthread_once(&once, look_for_device);
    return object && device_of(kind, object) == wished_device;
}

static bool is_wanted(int call, const void *site)
{
    if (wish.only && !listed(wish.only, layer_call_names[call]))
        return false;
    return !wish.site || offset_of(site) == wish.site;
}

bool layer_enter(int call, bool countable, const void *site, enum layer_kind kind, const void *object)
{
    const bool counts = countable && is_of_device(kind, object);
    bool fail = false;
    pthread_mutex_lock(&seen.lock);
    seen.calls++;
    if (counts) {
        note_site(call, site);
        /* Once the device is lost, it is lost for all calls. */
        bool lost = wish.sticky && seen.failed_call >= 0;
        if (lost || is_wanted(call, site)) {
            seen.countable++;
            fail = lost || (wish.fail && seen.countable == wish.fail);
        }
        if (fail && seen.failed_call < 0) {
            seen.failed_call = call;
            seen.failed_number = seen.countable;
            seen.failed_site = offset_of(site);
        }
    }
    pthread_mutex_unlock(&seen.lock);
    if (fail && wish.sleep)
        sleep(wish.sleep);
    return fail && !wish.sleep;
}

cl_int layer_code(cl_int fitting)
{
    return wish.has_code ? wish.code : fitting;
}

void layer_blocks(cl_bool blocking)
{
    pthread_mutex_lock(&seen.lock);
    seen.blocking += blocking != CL_FALSE;
    pthread_mutex_unlock(&seen.lock);
}

long layer_calls(const char *name)
{
    pthread_mutex_lock(&seen.lock);
    long number = name ? 0 : seen.blocking;
    for (int i = 0; name && i < seen.site_count; i++)
        if (strcmp(layer_call_names[seen.sites[i].call], name) == 0)
            number += seen.sites[i].number;
    pthread_mutex_unlock(&seen.lock);
    return number;
}

long layer_events(void)
{
    pthread_mutex_lock(&seen.lock);
    const long number = seen.events;
    pthread_mutex_unlock(&seen.lock);
    return number;
}

void layer_fail(const char *names, long number, bool sticky)
{
    pthread_mutex_lock(&seen.lock);
    wish.only = names;
    wish.fail = names ? number : 0;
    wish.sticky = sticky;
    seen.countable = 0;
    seen.failed_call = -1;
    pthread_mutex_unlock(&seen.lock);
}

/* ---- Objects ---- */

static struct object **find(enum layer_kind kind, const void *handle)
{
    struct object **slot = &seen.objects[((uintptr_t)handle >> 4) * 2654435761u % BUCKETS];
    while (*slot && ((*slot)->handle != handle || (*slot)->kind != kind))
        slot = &(*slot)->next;
    return slot;
}

void layer_made(enum layer_kind kind, const void *handle, int call)
{
    struct object *object = malloc(sizeof *object);
    if (!object)
        abort();
    *object = (struct object){handle, kind, call, 1, NULL};
    pthread_mutex_lock(&seen.lock);
    *find(kind, handle) = object;
    seen.events += kind == LAYER_EVENT;
    pthread_mutex_unlock(&seen.lock);
    if (wish.keep && kind == LAYER_MEMORY)
        layer_target->clRetainMemObject((cl_mem)handle);
}

void layer_retained(enum layer_kind kind, const void *handle)
{
    pthread_mutex_lock(&seen.lock);
    struct object *object = *find(kind, handle);
    if (object)
        object->references++;
    pthread_mutex_unlock(&seen.lock);
}

/* Before the driver releases: afterwards another object may have the same address. */
void layer_releasing(enum layer_kind kind, const void *handle, int call)
{
    pthread_mutex_lock(&seen.lock);
    struct object **slot = find(kind, handle), *object = *slot;
    if (!object && kind != LAYER_DEVICE) {
        seen.over++;
        fprintf(stderr, "layer: %s releases a %s that is not there\n", layer_call_names[call],
                kind_names[kind]);
    } else if (object && --object->references == 0) {
        *slot = object->next;
        free(object);
    }
    pthread_mutex_unlock(&seen.lock);
}

/* ---- Launches ---- */

/* Takes memory, bit by bit, until somebody ends the process: 4 GB at most, for the sake of the machine. */
static void eat(void)
{
    for (long taken = 0; taken < 1 << 10; taken++)
        mmap(NULL, 1 << 22, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    pause();
}

bool layer_launched(cl_kernel kernel)
{
    char name[sizeof seen.launched->name];
    if ((!wish.report && !wish.refuse && !wish.eat) ||
        layer_target->clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL) != CL_SUCCESS)
        return true;
    pthread_mutex_lock(&seen.lock);
    int i = 0;
    while (i < seen.launched_count && strcmp(seen.launched[i].name, name) != 0)
        i++;
    if (i < MAX_KERNELS) {
        seen.launched_count += i == seen.launched_count;
        snprintf(seen.launched[i].name, sizeof name, "%s", name);
        seen.launched[i].number++;
    }
    pthread_mutex_unlock(&seen.lock);
    if (wish.eat && strcmp(wish.eat, name) == 0)
        eat();
    return !wish.refuse || strcmp(wish.refuse, name) != 0;
}

/* ---- Copies ---- */

void layer_copied(int call, size_t bytes)
{
    pthread_mutex_lock(&seen.lock);
    seen.copied[call].number++;
    seen.copied[call].bytes += bytes;
    pthread_mutex_unlock(&seen.lock);
}

size_t layer_image_bytes(cl_mem image, const size_t *region)
{
    size_t pixel = 0;
    layer_target->clGetImageInfo(image, CL_IMAGE_ELEMENT_SIZE, sizeof pixel, &pixel, NULL);
    return region[0] * region[1] * region[2] * pixel;
}

long layer_copies(const char *name, unsigned long *bytes)
{
    struct copied found = {0};
    pthread_mutex_lock(&seen.lock);
    for (int i = 0; i < layer_call_count; i++)
        if (strcmp(layer_call_names[i], name) == 0)
            found = seen.copied[i];
    pthread_mutex_unlock(&seen.lock);
    *bytes = found.bytes;
    return found.number;
}

/* ---- Guard pages ---- */

/* A buffer's memory between two pages that nobody may touch. Its start is aligned as a driver's would be, so
 * up to ALIGN bytes lie between its end and the page; they hold a pattern that is looked at in the end. */
struct guarded {
    unsigned char *map, *start;
    size_t map_bytes, bytes, slack;
    int poison;
};

/* Whether the next buffer ends at its page. By turns: as in the Thue-Morse sequence, which has no period that
 * a caller's allocations could fall in step with. */
static bool at_end(void)
{
    static atomic_uint count;
    return wish.guard == GUARD_TURNS ? __builtin_popcount(atomic_fetch_add(&count, 1)) % 2
                                     : wish.guard == GUARD_END;
}

static struct guarded *guarded_new(size_t bytes)
{
    struct guarded *guarded = malloc(sizeof *guarded);
    size_t room = (bytes + ALIGN - 1) / ALIGN * ALIGN, pages = (room + PAGE - 1) / PAGE * PAGE;
    bool end = at_end();
    if (!guarded)
        return NULL;
    *guarded = (struct guarded){.map_bytes = pages + 2 * PAGE, .bytes = bytes, .poison = wish.poison};
    if (wish.guard == GUARD_TURNS && end)
        guarded->poison ^= 0x80; /* as floats, both are far beyond any image's values */
    guarded->map = mmap(NULL, guarded->map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (guarded->map == MAP_FAILED) {
        free(guarded);
        return NULL;
    }
    mprotect(guarded->map, PAGE, PROT_NONE);
    mprotect(guarded->map + PAGE + pages, PAGE, PROT_NONE);
    guarded->start = guarded->map + PAGE + (end ? pages - room : 0);
    guarded->slack = end ? room - bytes : pages - bytes;
    memset(guarded->start, guarded->poison, bytes + guarded->slack);
    return guarded;
}

static void CL_CALLBACK guarded_finish(cl_mem memory, void *user)
{
    struct guarded *guarded = user;
    long damaged = 0;
    (void)memory;
    for (size_t i = 0; i < guarded->slack; i++)
        damaged += guarded->start[guarded->bytes + i] != (unsigned char)guarded->poison;
    if (damaged)
        fprintf(stderr, "layer: %ld bytes behind a buffer of %zu bytes were changed\n", damaged,
                guarded->bytes);
    pthread_mutex_lock(&seen.lock);
    seen.damaged += damaged;
    pthread_mutex_unlock(&seen.lock);
    munmap(guarded->map, guarded->map_bytes);
    free(guarded);
}

cl_mem layer_create_buffer(cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *code)
{
    const cl_mem_flags ours = CL_MEM_COPY_HOST_PTR | CL_MEM_ALLOC_HOST_PTR;
    bool wanted = wish.guard && size > 0 && !(flags & CL_MEM_USE_HOST_PTR);
    struct guarded *guarded = wanted ? guarded_new(size) : NULL;
    if (!guarded)
        return layer_target->clCreateBuffer(context, flags, size, host, code);
    if (host && (flags & CL_MEM_COPY_HOST_PTR))
        memcpy(guarded->start, host, size);
    cl_mem made = layer_target->clCreateBuffer(context, (flags & ~ours) | CL_MEM_USE_HOST_PTR, size,
                                               guarded->start, code);
    /* Without the callback the pages stay mapped, which harms no one. */
    if (made)
        layer_target->clSetMemObjectDestructorCallback(made, guarded_finish, guarded);
    return made;
}

cl_int layer_build_program(cl_program program, cl_uint count, const cl_device_id *devices,
                           const char *options, void(CL_CALLBACK *notify)(cl_program, void *), void *data)
{
    char *longer = NULL;
    if (wish.options && asprintf(&longer, "%s %s", options ? options : "", wish.options) < 0)
        return CL_OUT_OF_HOST_MEMORY;
    cl_int code =
        layer_target->clBuildProgram(program, count, devices, longer ? longer : options, notify, data);
    free(longer);
    return code;
}

void layer_stamped(cl_profiling_info what, void *value)
{
    bool stamp = what >= CL_PROFILING_COMMAND_QUEUED && what <= CL_PROFILING_COMMAND_END;
    cl_ulong ns;
    if (!wish.clock || !value || !stamp)
        return;
    memcpy(&ns, value, sizeof ns);
    ns /= (cl_ulong)wish.clock;
    memcpy(value, &ns, sizeof ns);
}

bool layer_beyond(cl_mem buffer, const size_t *origin, const size_t *region, size_t pitch)
{
    size_t bytes = 0;
    if (!wish.whole_rows ||
        layer_target->clGetMemObjectInfo(buffer, CL_MEM_SIZE, sizeof bytes, &bytes, NULL) != CL_SUCCESS)
        return false;
    return wish.whole_rows > 1 || (origin[1] + region[1]) * (pitch ? pitch : region[0]) > bytes;
}

/* ---- The report ---- */

static void report_leaks(FILE *file)
{
    for (int bucket = 0; bucket < BUCKETS; bucket++)
        for (const struct object *object = seen.objects[bucket]; object; object = object->next)
            fprintf(file, "leak %s %s %ld\n", kind_names[object->kind], layer_call_names[object->call],
                    object->references);
}

static void report(void)
{
    FILE *file = fopen(wish.report, "a");
    if (!file)
        return;
    pthread_mutex_lock(&seen.lock);
    fprintf(file, "calls %ld %ld\n", seen.calls, seen.countable);
    for (int i = 0; i < seen.site_count; i++)
        fprintf(file, "site %s %lx %ld\n", layer_call_names[seen.sites[i].call],
                (unsigned long)offset_of(seen.sites[i].address), seen.sites[i].number);
    for (int i = 0; i < seen.launched_count; i++)
        fprintf(file, "kernel %s %ld\n", seen.launched[i].name, seen.launched[i].number);
    for (int i = 0; i < layer_call_count; i++)
        if (seen.copied[i].number)
            fprintf(file, "copy %s %ld %lu\n", layer_call_names[i], seen.copied[i].number,
                    seen.copied[i].bytes);
    if (seen.failed_call >= 0)
        fprintf(file, "failed %s %ld %lx\n", layer_call_names[seen.failed_call], seen.failed_number,
                (unsigned long)seen.failed_site);
    report_leaks(file);
    if (seen.over)
        fprintf(file, "over %ld\n", seen.over);
    if (seen.damaged)
        fprintf(file, "damage %ld\n", seen.damaged);
    pthread_mutex_unlock(&seen.lock);
    fclose(file);
}

/* ---- What the loader asks for ---- */

static const char *wished_text(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

static long wished_number(const char *name, int base)
{
    const char *value = wished_text(name);
    return value ? strtol(value, NULL, base) : 0;
}

static int wished_guard(const char *text)
{
    static const char *const names[] = {"begin", "end", "turns"};
    for (int i = 0; text && i < 3; i++)
        if (strcmp(text, names[i]) == 0)
            return GUARD_BEGIN + i;
    return GUARD_NONE;
}

static void read_wishes(void)
{
    wish.report = wished_text("LAYER_REPORT");
    wish.only = wished_text("LAYER_ONLY");
    wish.refuse = wished_text("LAYER_REFUSE");
    wish.eat = wished_text("LAYER_EAT");
    wish.options = wished_text("LAYER_OPTIONS");
    wish.fail = wished_number("LAYER_FAIL", 10);
    wish.site = (uintptr_t)wished_number("LAYER_SITE", 16);
    wish.sticky = wished_number("LAYER_STICKY", 10) != 0;
    wish.has_code = wished_text("LAYER_CODE") != NULL;
    wish.sleep = (unsigned)wished_number("LAYER_SLEEP", 10);
    wish.code = (cl_int)wished_number("LAYER_CODE", 10);
    wish.guard = wished_guard(wished_text("LAYER_GUARD"));
    wish.keep = wished_number("LAYER_KEEP", 10) != 0;
    wish.whole_rows = wished_number("LAYER_WHOLE_ROWS", 10);
    wish.clock = wished_number("LAYER_CLOCK", 10);
    wish.device = wished_text("LAYER_DEVICE") ? wished_number("LAYER_DEVICE", 10) : -1;
    wish.poison = wished_text("LAYER_POISON") ? (int)wished_number("LAYER_POISON", 0) : 0x5a;
}

static cl_int answer(const void *what, size_t bytes, size_t size, void *value, size_t *size_ret)
{
    if (value && size < bytes)
        return CL_INVALID_VALUE;
    if (value)
        memcpy(value, what, bytes);
    if (size_ret)
        *size_ret = bytes;
    return CL_SUCCESS;
}

CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what, size_t size, void *value, size_t *size_ret)
{
    static const char name[] = "hone's test layer";
    const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    if (what == CL_LAYER_API_VERSION)
        return answer(&version, sizeof version, size, value, size_ret);
    return what == CL_LAYER_NAME ? answer(name, sizeof name, size, value, size_ret) : CL_INVALID_VALUE;
}

CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint entries, const cl_icd_dispatch *target,
                                            cl_uint *entries_ret, const cl_icd_dispatch **layer)
{
    size_t bytes = entries * sizeof(void *);
    layer_target = target;
    memcpy(&table, target, bytes < sizeof table ? bytes : sizeof table);
    read_wishes();
    layer_fill(&table);
    if (wish.report) {
        atexit(report);
        at_quick_exit(report);
    }
    *entries_ret = bytes < sizeof table ? entries : (cl_uint)(sizeof table / sizeof(void *));
    *layer = &table;
    return CL_SUCCESS;
}
