/* SPDX-License-Identifier: BSD-2-Clause */
/* Plays NVIDIA's management library: two GPUs, the first of which counts 1.5 J between one question and the
 * next. */
#include <stdio.h>

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetCount_v2(unsigned *count);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device);
int nvmlDeviceGetName(void *device, char *name, unsigned length);
int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *millijoules);

enum { SUCCESS = 0, NOT_SUPPORTED = 3 };
static int gpus[2];

int nvmlInit_v2(void)
{
    return SUCCESS;
}

int nvmlShutdown(void)
{
    return SUCCESS;
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
    *count = 2;
    return SUCCESS;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
    *device = &gpus[index];
    return SUCCESS;
}

int nvmlDeviceGetName(void *device, char *name, unsigned length)
{
    snprintf(name, length, "Played GPU %d", device == &gpus[1]);
    return SUCCESS;
}

int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *millijoules)
{
    static unsigned long long counted = 1000000;
    if (device == &gpus[1])
        return NOT_SUPPORTED;
    *millijoules = counted += 1500;
    return SUCCESS;
}
