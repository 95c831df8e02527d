/* SPDX-License-Identifier: BSD-2-Clause */
/* The queues of a device: its own, and those beside it in which copies run while kernels do. */
#include "cl/internal.h"

#include "base/mem.h"

cl_command_queue lane_queue(const struct hone_device *device, enum lane lane)
{
    cl_command_queue beside = lane == LANE_MAIN ? NULL : device->lanes[lane - LANE_UPLOAD];
    return beside ? beside : device->queue;
}

static cl_int open_lane(struct hone_device *device, _Atomic(cl_command_queue) *lane)
{
    const cl_command_queue_properties properties = device->profile ? CL_QUEUE_PROFILING_ENABLE : 0;
    cl_int code = CL_SUCCESS;
    if (*lane)
        return code;
    cl_command_queue queue = clCreateCommandQueue(device->context, device->id, properties, &code);
    *lane = code == CL_SUCCESS ? queue : NULL;
    return code;
}

hone_status device_open_lanes(struct hone_device *device, hone_error *error)
{
    cl_int code = CL_SUCCESS;
    if (device->out_of_order || device->is_foreign)
        return HONE_OK;
    pthread_mutex_lock(&device->lock);
    for (size_t i = 0; i < COUNT_OF(device->lanes) && code == CL_SUCCESS; i++)
        code = open_lane(device, &device->lanes[i]);
    pthread_mutex_unlock(&device->lock);
    return code == CL_SUCCESS ? HONE_OK
                              : cl_failed(error, code, "clCreateCommandQueue for '%s'", device->info.name);
}

hone_status device_flush(struct hone_device *device, hone_error *error)
{
    const enum lane order[] = {LANE_UPLOAD, LANE_MAIN, LANE_DOWNLOAD};
    cl_int code = CL_SUCCESS;
    for (size_t i = 0; i < COUNT_OF(order) && code == CL_SUCCESS; i++)
        if (order[i] == LANE_MAIN || lane_queue(device, order[i]) != device->queue)
            code = clFlush(lane_queue(device, order[i]));
    return code == CL_SUCCESS ? HONE_OK : cl_failed(error, code, "clFlush");
}

/* Along the way that data take, so that nothing waits for a command that was not flushed. All are tried. */
cl_int lanes_finish(const struct hone_device *device)
{
    cl_int upload = device->lanes[0] ? clFinish(device->lanes[0]) : CL_SUCCESS;
    cl_int main = clFinish(device->queue);
    cl_int download = device->lanes[1] ? clFinish(device->lanes[1]) : CL_SUCCESS;
    return upload != CL_SUCCESS ? upload : main != CL_SUCCESS ? main : download;
}

void lanes_release(struct hone_device *device)
{
    if (device->queue) {
        lanes_finish(device);
        clReleaseCommandQueue(device->queue);
    }
    for (size_t i = 0; i < COUNT_OF(device->lanes); i++)
        if (device->lanes[i])
            clReleaseCommandQueue(device->lanes[i]);
}
