/* SPDX-License-Identifier: BSD-2-Clause */
/* NVIDIA's management library, loaded by name: its functions and their values as its documentation has
 * them. */
#include "tune/energy/internal.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { SUCCESS = 0 };

/* Functions come as data pointers; memcpy is the conversion that C allows. */
static bool find(const struct energy_meter *meter, const char *name, void *function)
{
    void *address = dlsym(meter->library, name);
    memcpy(function, &address, sizeof address);
    return address != NULL;
}

static bool count_gpus(const struct energy_meter *meter, unsigned *count)
{
    int (*init)(void) = NULL;
    int (*get_count)(unsigned *) = NULL;
    return find(meter, "nvmlInit_v2", &init) && find(meter, "nvmlDeviceGetCount_v2", &get_count) &&
           init() == SUCCESS && get_count(count) == SUCCESS;
}

static void add_gpu(struct energy_meter *meter, unsigned index)
{
    int (*by_index)(unsigned, void **) = NULL;
    int (*get_name)(void *, char *, unsigned) = NULL;
    struct energy_counter gpu = {.works = true};
    double joules;
    if (!find(meter, "nvmlDeviceGetHandleByIndex_v2", &by_index) || by_index(index, &gpu.gpu) != SUCCESS)
        return;
    if (!find(meter, "nvmlDeviceGetName", &get_name) ||
        get_name(gpu.gpu, gpu.name, sizeof gpu.name) != SUCCESS)
        snprintf(gpu.name, sizeof gpu.name, "NVIDIA GPU %u", index);
    gpu.name[sizeof gpu.name - 1] = '\0';
    struct energy_counter *added = nvml_read(meter, &gpu, &joules) ? energy_add(meter) : NULL;
    if (added)
        *added = gpu;
}

void nvml_open(struct energy_meter *meter, const char *name)
{
    unsigned count = 0;
    meter->library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!meter->library || !count_gpus(meter, &count))
        return;
    for (unsigned i = 0; i < count && i < ENERGY_MOST; i++)
        add_gpu(meter, i);
}

void nvml_close(struct energy_meter *meter)
{
    int (*shut_down)(void) = NULL;
    if (!meter->library)
        return;
    if (find(meter, "nvmlShutdown", &shut_down))
        shut_down();
    dlclose(meter->library);
    meter->library = NULL;
}

bool nvml_read(const struct energy_meter *meter, const struct energy_counter *counter, double *joules)
{
    int (*total)(void *, unsigned long long *) = NULL;
    unsigned long long millijoules = 0;
    if (!find(meter, "nvmlDeviceGetTotalEnergyConsumption", &total) ||
        total(counter->gpu, &millijoules) != SUCCESS)
        return false;
    *joules = (double)millijoules * 1e-3;
    return true;
}
