/* SPDX-License-Identifier: BSD-2-Clause */
/* The doctor's first look: what lies between a program and its devices. */
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "cl/platforms.h"
#include "doctor/drivers.h"
#include "doctor/internal.h"

#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- The loader ---- */

static void look_at_loader(struct doctor *doctor)
{
    struct link_map *map = NULL;
    void *loader = dlopen("libOpenCL.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (loader && dlinfo(loader, RTLD_DI_LINKMAP, &map) == 0)
        doctor_tell(doctor, DOCTOR_LOADER, DOCTOR_FINE, -1, "libOpenCL", NULL, "%s", map->l_name);
    if (loader)
        dlclose(loader);
}

/* A file of programs that cannot be used is left alone without a word: hone is right without it, but slow. */
static void look_at_precompiled(struct doctor *doctor)
{
    static const char name[] = "HONE_PRECOMPILED";
    const char *path = getenv(name);
    hone_error error;
    int file = -1;
    if (!path)
        return;
    if (!*path)
        doctor_tell(doctor, DOCTOR_LOADER, DOCTOR_NOTE, -1, name, NULL,
                    "is empty: no programs compiled at installation are used");
    else if (file_trusted_open(path, &file, &error))
        doctor_tell(doctor, DOCTOR_LOADER, DOCTOR_WARNING, -1, name,
                    "correct it, or unset it: the installation may have a file", "cannot be used: %s",
                    error.message);
    else
        doctor_tell(doctor, DOCTOR_LOADER, DOCTOR_NOTE, -1, name, NULL,
                    "is '%s': programs compiled at installation come from there", path);
    if (file >= 0)
        close(file);
}

/* Variables that change what a loader does; whoever sets them runs code in this process. */
static void look_at_environment(struct doctor *doctor)
{
    static const struct {
        const char *name, *meaning;
    } variables[] = {
        {"OCL_ICD_VENDORS", "drivers are taken from there alone"},
        {"OCL_ICD_FILENAMES", "these drivers are loaded too"},
        {"OPENCL_VENDOR_PATH", "drivers are taken from there alone"},
        {"OPENCL_LAYERS", "these libraries see every OpenCL call"},
        {"POCL_DEVICES", "PoCL shows these devices"},
        {"RUSTICL_ENABLE", "rusticl uses these drivers"},
        {"HONE_DEVICE", "the device that hone uses unless told otherwise"},
        {"HONE_DRIVER_TIMEOUT", "a driver may take so many seconds to list its devices"},
        {"HONE_TUNE_CLOCK", "kernels may be tuned by another clock than the device's"},
        {"HONE_TUNE_REFERENCE",
         "plain C may take so many seconds to say what is right at the size that is tuned"},
        {"HONE_SYSFS", "counters of energy are looked for there"},
        {"HONE_KERNEL_DIR", "kernels come from this folder instead of those compiled in"},
        {"HONE_KEEP_ENVIRONMENT", "PoCL keeps its own cache folder, which programs starting together break"}};
    for (size_t i = 0; i < COUNT_OF(variables); i++) {
        const char *value = getenv(variables[i].name);
        if (value)
            doctor_tell(doctor, DOCTOR_LOADER, DOCTOR_NOTE, -1, variables[i].name, NULL, "is '%s': %s", value,
                        variables[i].meaning);
    }
    look_at_precompiled(doctor);
}

/* ---- Drivers ---- */

static void look_at_library(struct doctor *doctor, const char *subject, const char *library)
{
    /* Never closed again: drivers do not take that well. The loader has it open anyway. */
    if (dlopen(library, RTLD_LAZY | RTLD_LOCAL))
        doctor_tell(doctor, DOCTOR_DRIVERS, DOCTOR_FINE, -1, subject, NULL, "%s loads", library);
    else
        doctor_tell(doctor, DOCTOR_DRIVERS, DOCTOR_WARNING, -1, subject,
                    "install the driver's package again, or remove this file", "does not load: %s",
                    dlerror());
}

/* An ICD file holds the name of a library in its first line. */
static void look_at_icd_file(struct doctor *doctor, const char *path)
{
    struct text text = {0};
    hone_error error;
    const char *slash = strrchr(path, '/'), *subject = slash ? slash + 1 : path;
    if (file_read(path, 4096, &text, &error)) {
        doctor_tell(doctor, DOCTOR_DRIVERS, DOCTOR_WARNING, -1, subject, NULL, "%s", error.message);
    } else {
        char library[4096];
        const char *line = text_view(&text);
        snprintf(library, sizeof library, "%.*s", (int)strcspn(line, "\r\n"), line);
        look_at_library(doctor, subject, library);
    }
    text_finish(&text);
}

static void look_at_driver(void *user, enum driver_kind kind, const char *path)
{
    if (kind == DRIVER_FILE)
        look_at_icd_file(user, path);
    else if (kind == DRIVER_LIBRARY)
        look_at_library(user, path, path);
    else
        doctor_tell(user, DOCTOR_DRIVERS, DOCTOR_WARNING, -1, path, NULL, "no driver is registered here");
}

static void look_at_platform(struct doctor *doctor, const struct platform_info *info)
{
    if (info->hangs)
        doctor_tell(doctor, DOCTOR_DRIVERS, DOCTOR_WRONG, -1, info->name[0] ? info->name : "a platform",
                    "HONE_DRIVER_TIMEOUT=SECONDS waits longer, OCL_ICD_VENDORS leaves its driver out",
                    "does not list its devices within %g s, and is not used", platform_patience());
    else if (info->code)
        doctor_tell(
            doctor, DOCTOR_DRIVERS, DOCTOR_WARNING, -1, info->name,
            "is the kernel's driver of the same version? Restarting the machine often helps after an update",
            "does not list its devices: %s (%d)", hone_cl_error_name(info->code), info->code);
    else if (info->devices == 0)
        doctor_tell(doctor, DOCTOR_DRIVERS, DOCTOR_NOTE, -1, info->name,
                    text_contains_nocase(info->name, "rusticl")
                        ? "set RUSTICL_ENABLE to the driver of your GPU (radeonsi, iris ...) to use it"
                        : NULL,
                    "has no device on this machine");
    else
        doctor_tell(doctor, DOCTOR_DRIVERS, DOCTOR_FINE, -1, info->name, NULL, "%u device%s, %s",
                    info->devices, info->devices == 1 ? "" : "s", info->version);
    if (info->undescribed)
        doctor_tell(doctor, DOCTOR_DRIVERS, DOCTOR_WARNING, -1, info->name, NULL,
                    "%u of its devices answer no questions and are not used", info->undescribed);
}

hone_status doctor_look_at_setup(struct doctor *doctor, hone_error *error)
{
    struct platform_info *list = NULL;
    size_t count = 0;
    hone_status status = platform_list(&list, &count, error);
    if (platform_loader_hangs()) /* so would all that loads a library */
        return status;
    look_at_loader(doctor);
    look_at_environment(doctor);
    drivers_each(look_at_driver, doctor);
    for (size_t i = 0; i < count; i++)
        look_at_platform(doctor, &list[i]);
    free(list);
    return status;
}

/* ---- What to install ---- */

static const struct {
    unsigned vendor; /* PCI */
    const char *name, *advice;
} gpus[] = {
    {0x10de, "NVIDIA GPU",
     "apt install nvidia-opencl-icd (Debian non-free), with NVIDIA's own kernel driver"},
    {0x1002, "AMD GPU", "apt install mesa-opencl-icd and set RUSTICL_ENABLE=radeonsi, or install AMD's ROCm"},
    {0x8086, "Intel GPU", "apt install intel-opencl-icd"},
};

static unsigned number_in(const char *folder, const char *name)
{
    char path[4096];
    struct text text = {0};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    unsigned value =
        file_read(path, 4096, &text, NULL) == HONE_OK ? (unsigned)strtoul(text_view(&text), NULL, 16) : 0;
    text_finish(&text);
    return value;
}

static void advise_for_gpu(struct doctor *doctor, const char *folder)
{
    enum { DISPLAY_CLASS = 0x03 };
    if (number_in(folder, "class") >> 16 != DISPLAY_CLASS)
        return;
    unsigned vendor = number_in(folder, "vendor");
    for (size_t i = 0; i < COUNT_OF(gpus); i++)
        if (gpus[i].vendor == vendor)
            doctor_tell(doctor, DOCTOR_DRIVERS, DOCTOR_NOTE, -1, gpus[i].name, gpus[i].advice,
                        "there is one in this machine, without an OpenCL driver that works");
}

static void advise_for_permission(struct doctor *doctor, const char *path)
{
    if (access(path, R_OK | W_OK) != 0)
        doctor_tell(doctor, DOCTOR_DRIVERS, DOCTOR_WARNING, -1, path,
                    "add your user to the group that owns it, usually: adduser USER render",
                    "may not be opened");
}

static void for_each_path(const char *pattern, struct doctor *doctor,
                          void (*action)(struct doctor *, const char *))
{
    glob_t found = {0};
    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++)
            action(doctor, found.gl_pathv[i]);
    globfree(&found);
}

void doctor_advise_install(struct doctor *doctor)
{
    for_each_path("/sys/bus/pci/devices/*", doctor, advise_for_gpu);
    for_each_path("/dev/dri/renderD*", doctor, advise_for_permission);
    doctor_tell(doctor, DOCTOR_DRIVERS, DOCTOR_NOTE, -1, "CPU", "apt install pocl-opencl-icd",
                "PoCL makes every CPU an OpenCL device");
}
