/* SPDX-License-Identifier: BSD-2-Clause */
#include "tune/energy/energy.h"

#include "tune/energy/internal.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct energy_counter *energy_add(struct energy_meter *meter)
{
    return meter->count < ENERGY_MOST ? &meter->counters[meter->count++] : NULL;
}

static bool read_line(const char *path, char *line, size_t size)
{
    FILE *file = fopen(path, "re");
    const bool there = file && fgets(line, (int)size, file);
    const int code = errno;
    if (file)
        fclose(file);
    errno = code;
    line[there ? strcspn(line, "\n") : 0] = '\0';
    return there;
}

/* Microjoules. */
static bool read_file(const char *path, double *joules)
{
    char line[64], *end = NULL;
    if (!read_line(path, line, sizeof line))
        return false;
    errno = 0;
    const uint64_t value = strtoull(line, &end, 10);
    *joules = (double)value * 1e-6;
    return end != line && *end == '\0' && errno == 0;
}

static bool read_counter(const struct energy_meter *meter, const struct energy_counter *counter,
                         double *joules)
{
    return counter->path[0] ? read_file(counter->path, joules) : nvml_read(meter, counter, joules);
}

/* The folder's file of energy with its name; a file that there is but that nobody may read is the reason
 * why. */
static void add_file(struct energy_meter *meter, const char *folder, const char *energy, const char *name)
{
    char path[sizeof meter->counters[0].path], line[sizeof meter->counters[0].name];
    double joules;
    if (snprintf(path, sizeof path, "%s/%s", folder, energy) >= (int)sizeof path)
        return;
    errno = 0;
    if (!read_file(path, &joules)) {
        if (errno == EACCES || errno == EPERM)
            snprintf(meter->why, sizeof meter->why, "%.200s can be read by root only", path);
        return;
    }
    struct energy_counter *counter = energy_add(meter);
    if (!counter)
        return;
    snprintf(counter->path, sizeof counter->path, "%s", path);
    counter->works = true;
    snprintf(path, sizeof path, "%.400s/%s", folder, name);
    snprintf(counter->name, sizeof counter->name, "%s",
             read_line(path, line, sizeof line) && line[0] ? line : energy);
    snprintf(path, sizeof path, "%.400s/max_energy_range_uj", folder);
    if (!read_file(path, &counter->wrap))
        counter->wrap = 0;
}

/* In the order of their names, so that reports do not change from run to run. */
static void add_folder(struct energy_meter *meter, const char *class, const char *prefix, const char *energy,
                       const char *name)
{
    struct dirent **entries = NULL;
    char folder[448];
    const int count = scandir(class, &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        if (strncmp(entries[i]->d_name, prefix, strlen(prefix)) == 0 &&
            snprintf(folder, sizeof folder, "%s/%s", class, entries[i]->d_name) < (int)sizeof folder)
            add_file(meter, folder, energy, name);
        free(entries[i]);
    }
    free(entries);
}

void energy_open(struct energy_meter *meter, const char *sysfs, const char *nvml)
{
    char class[256];
    *meter = (struct energy_meter){0};
    snprintf(class, sizeof class, "%.200s/class/powercap", sysfs ? sysfs : "/sys");
    add_folder(meter, class, "intel-rapl:", "energy_uj", "name");
    snprintf(class, sizeof class, "%.200s/class/hwmon", sysfs ? sysfs : "/sys");
    add_folder(meter, class, "hwmon", "energy1_input", "name");
    nvml_open(meter, nvml ? nvml : "libnvidia-ml.so.1");
    if (!meter->count && !meter->why[0])
        snprintf(
            meter->why, sizeof meter->why,
            "this machine has no counter of it (RAPL in %.100s/class/powercap, energy1_input in hwmon, NVML)",
            sysfs ? sysfs : "/sys");
}

void energy_close(struct energy_meter *meter)
{
    nvml_close(meter);
    meter->count = 0;
}

void energy_start(struct energy_meter *meter)
{
    for (size_t i = 0; i < meter->count; i++) {
        meter->counters[i].works = read_counter(meter, &meter->counters[i], &meter->counters[i].start);
        meter->counters[i].joules = 0;
    }
}

void energy_stop(struct energy_meter *meter)
{
    for (size_t i = 0; i < meter->count; i++) {
        struct energy_counter *c = &meter->counters[i];
        double now = 0;
        c->works = c->works && read_counter(meter, c, &now);
        const double more = now >= c->start ? now - c->start : now - c->start + c->wrap;
        c->works = c->works && more >= 0;
        c->joules += c->works ? more : 0;
        c->start = now;
    }
}
