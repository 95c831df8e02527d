/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * A driver with two devices that does not come back from one question.
 *
 *   HANG_IN=library    while its library is loaded
 *   HANG_IN=platforms  when the loader asks for its platform
 *   HANG_IN=devices    when it is to list its devices
 *   HANG_IN=info       when one of them is asked about itself
 *   HANG_IN=second     when the second is, while the first one answers nothing of use
 *   HANG_IN=nothing    never: neither answers anything of use
 *   HANG_IN=company    never, but the process ends if two threads ask for its devices at the same time
 *
 * Otherwise it has no devices.
 */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl_icd.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct _cl_platform_id {
    cl_icd_dispatch *dispatch;
};

struct _cl_device_id {
    cl_icd_dispatch *dispatch;
};

static cl_icd_dispatch table;
static struct _cl_platform_id platform = {&table};
static struct _cl_device_id devices[2] = {{&table}, {&table}};

static bool hangs_in(const char *where)
{
    const char *wish = getenv("HANG_IN");
    return wish && strcmp(wish, where) == 0;
}

static void hang(const char *where)
{
    while (hangs_in(where))
        pause();
}

__attribute__((constructor)) static void begin(void)
{
    hang("library");
}

static cl_int CL_API_CALL get_platforms(cl_uint most, cl_platform_id *platforms, cl_uint *count)
{
    hang("platforms");
    if (platforms && most > 0)
        platforms[0] = &platform;
    if (count)
        *count = 1;
    return CL_SUCCESS;
}

static cl_int answer(const char *text, size_t size, void *value, size_t *size_ret)
{
    const size_t bytes = strlen(text) + 1;
    if (value && size < bytes)
        return CL_INVALID_VALUE;
    if (value)
        memcpy(value, text, bytes);
    if (size_ret)
        *size_ret = bytes;
    return CL_SUCCESS;
}

static cl_int CL_API_CALL get_platform_info(cl_platform_id asked, cl_platform_info what, size_t size,
                                            void *value, size_t *size_ret)
{
    (void)asked;
    if (what == CL_PLATFORM_NAME)
        return answer("Sleeper", size, value, size_ret);
    if (what == CL_PLATFORM_ICD_SUFFIX_KHR)
        return answer("SLEEP", size, value, size_ret);
    return what == CL_PLATFORM_EXTENSIONS ? answer("cl_khr_icd", size, value, size_ret)
                                          : answer("OpenCL 1.2 sleeping", size, value, size_ret);
}

/* Long enough for the others to come. */
static void be_asked(void)
{
    static atomic_int guests;
    if (atomic_fetch_add(&guests, 1) > 0)
        abort();
    usleep(200000);
    atomic_fetch_sub(&guests, 1);
}

static cl_int CL_API_CALL get_devices(cl_platform_id asked, cl_device_type type, cl_uint most,
                                      cl_device_id *list, cl_uint *count)
{
    (void)asked;
    (void)type;
    hang("devices");
    if (hangs_in("company"))
        be_asked();
    if (!hangs_in("info") && !hangs_in("second") && !hangs_in("nothing"))
        return CL_DEVICE_NOT_FOUND;
    for (cl_uint i = 0; list && i < most && i < 2; i++)
        list[i] = &devices[i];
    if (count)
        *count = 2;
    return CL_SUCCESS;
}

static cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info what, size_t size, void *value,
                                          size_t *size_ret)
{
    (void)what;
    (void)size;
    (void)value;
    (void)size_ret;
    hang("info");
    if (device == &devices[1])
        hang("second");
    return CL_INVALID_VALUE;
}

static void *CL_API_CALL find(const char *name)
{
    static const struct {
        const char *name;
        void (*function)(void);
    } functions[] = {{"clIcdGetPlatformIDsKHR", (void (*)(void))get_platforms},
                     {"clGetPlatformInfo", (void (*)(void))get_platform_info}};
    void *address = NULL;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(functions[i].name, name) == 0)
            memcpy(&address, &functions[i].function, sizeof address);
    return address;
}

CL_API_ENTRY void *CL_API_CALL clGetExtensionFunctionAddress(const char *name)
{
    table.clGetPlatformIDs = get_platforms;
    table.clGetPlatformInfo = get_platform_info;
    table.clGetDeviceIDs = get_devices;
    table.clGetDeviceInfo = get_device_info;
    return find(name);
}
