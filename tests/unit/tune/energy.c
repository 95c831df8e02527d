/* SPDX-License-Identifier: BSD-2-Clause */
/* Counters of energy: a made-up /sys, and a library that plays NVIDIA's. */
#include "tune/energy/energy.h"
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char sysfs[64];

static void put(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", sysfs, name);
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    REQUIRE(file != NULL);
    fputs(text, file);
    REQUIRE(fclose(file) == 0);
}

static void begin(void)
{
    snprintf(sysfs, sizeof sysfs, "/tmp/hone-energy-XXXXXX");
    REQUIRE(mkdtemp(sysfs) != NULL);
}

static void end(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", sysfs);
    CHECK(system(command) == 0);
}

TEST(a_package_is_counted_also_where_its_counter_begins_again)
{
    struct energy_meter meter;
    begin();
    put("class/powercap/intel-rapl:0/energy_uj", "262143000000\n");
    put("class/powercap/intel-rapl:0/max_energy_range_uj", "262143328850\n");
    put("class/powercap/intel-rapl:0/name", "package-0\n");
    put("class/powercap/intel-rapl:0:0/energy_uj", "5000000\n");
    put("class/powercap/intel-rapl:0:0/name", "dram\n");
    put("class/powercap/intel-rapl/enabled", "1\n");
    energy_open(&meter, sysfs, "no-such-library.so");
    REQUIRE(meter.count == 2);
    CHECK_TEXT(meter.counters[0].name, "package-0");
    CHECK_TEXT(meter.counters[1].name, "dram");
    energy_start(&meter);
    put("class/powercap/intel-rapl:0/energy_uj", "2171150\n"); /* 328850 to its end */
    put("class/powercap/intel-rapl:0:0/energy_uj", "5250000\n");
    energy_stop(&meter);
    CHECK(meter.counters[0].works && meter.counters[1].works);
    CHECK(fabs(meter.counters[0].joules - 2.5) < 1e-6);
    CHECK(fabs(meter.counters[1].joules - 0.25) < 1e-9);
    put("class/powercap/intel-rapl:0/energy_uj", "3171150\n");
    energy_stop(&meter); /* from the start, which the counter has come round since */
    CHECK(fabs(meter.counters[0].joules - 3.5) < 1e-6);
    CHECK(fabs(meter.counters[1].joules - 0.25) < 1e-9);
    energy_close(&meter);
    end();
}

TEST(a_counter_that_goes_away_or_says_nonsense_counts_for_nothing)
{
    struct energy_meter meter;
    begin();
    put("class/hwmon/hwmon3/energy1_input", "1000000\n");
    put("class/hwmon/hwmon3/name", "xe\n");
    put("class/hwmon/hwmon4/energy1_input", "plenty\n");
    put("class/hwmon/hwmon5/energy1_input", "9000000\n");
    energy_open(&meter, sysfs, "no-such-library.so");
    REQUIRE(meter.count == 2);
    CHECK_TEXT(meter.counters[0].name, "xe");
    CHECK_TEXT(meter.counters[1].name, "energy1_input");
    energy_start(&meter);
    put("class/hwmon/hwmon3/energy1_input", "\n");
    put("class/hwmon/hwmon5/energy1_input", "8000000\n"); /* backwards, without a known end */
    energy_stop(&meter);
    CHECK(!meter.counters[0].works && !meter.counters[1].works);
    energy_close(&meter);
    end();
}

TEST(a_machine_without_counters_says_so)
{
    struct energy_meter meter;
    begin();
    energy_open(&meter, sysfs, "no-such-library.so");
    CHECK_EQ(meter.count, 0);
    CHECK(strstr(meter.why, "no counter") != NULL);
    energy_close(&meter);
    put("class/powercap/intel-rapl:0/energy_uj", "1\n");
    char path[128];
    snprintf(path, sizeof path, "%s/class/powercap/intel-rapl:0/energy_uj", sysfs);
    REQUIRE(chmod(path, 0) == 0);
    energy_open(&meter, sysfs, "no-such-library.so");
    if (geteuid() != 0) {
        CHECK_EQ(meter.count, 0);
        CHECK(strstr(meter.why, "root") != NULL);
    }
    energy_close(&meter);
    end();
}

TEST(gpus_count_through_their_library)
{
    struct energy_meter meter;
    begin();
    energy_open(&meter, sysfs, HONE_PLAYED_NVML);
    REQUIRE(meter.count == 1); /* the second one does not count */
    CHECK_TEXT(meter.counters[0].name, "Played GPU 0");
    energy_start(&meter);
    energy_stop(&meter);
    CHECK(meter.counters[0].works);
    CHECK(fabs(meter.counters[0].joules - 1.5) < 1e-9);
    energy_close(&meter);
    end();
}
