/* SPDX-License-Identifier: BSD-2-Clause */
/* What is found by a closer look: static facts of kernels, and probes. */
#include "cli/bench/bench.h"

#include "base/json_text.h"
#include "lab/probe/proof.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- Facts ---- */

static void print_facts(const struct facts *facts)
{
    printf("%15s %s: ", "", facts->kernel);
    if (facts->has_registers)
        printf("%u registers, %u spilled, ", facts->compiled.registers, facts->compiled.spills);
    else
        printf("registers unknown (%s), ", facts->missing);
    if (facts->waves)
        printf("%u of %u waves, ", facts->waves, facts->most_waves);
    printf("%" PRIu64 " private and %" PRIu64 " local bytes, work-groups of multiples of %zu\n",
           facts->driver.private_memory, facts->driver.local_memory, facts->driver.preferred_multiple);
}

json_t *bench_facts_json(const struct facts *facts)
{
    json_t *object = json_pack("{s:s, s:I, s:I, s:I, s:I}", "kernel", facts->kernel, "private_bytes",
                               (json_int_t)facts->driver.private_memory, "local_bytes",
                               (json_int_t)facts->driver.local_memory, "preferred_multiple",
                               (json_int_t)facts->driver.preferred_multiple, "max_work_group",
                               (json_int_t)facts->driver.max_work_group);
    json_object_set_new(object, "registers",
                        facts->has_registers ? json_integer(facts->compiled.registers) : json_null());
    json_object_set_new(object, "spills",
                        facts->has_registers ? json_integer(facts->compiled.spills) : json_null());
    json_object_set_new(object, "waves", facts->waves ? json_integer(facts->waves) : json_null());
    json_object_set_new(object, "most_waves", facts->waves ? json_integer(facts->most_waves) : json_null());
    if (facts->missing)
        json_object_set_new(object, "missing", json_string(facts->missing));
    return object;
}

/* ---- Probes ---- */

static void print_share(const char *what, double part, double whole)
{
    if (part >= 0 && whole > 0)
        printf("%s %.0f %%", what, 100 * part / whole);
    else
        printf("%s -", what);
}

static void print_probed(const struct probed *probed)
{
    const struct evidence *e = &probed->evidence;
    printf("%15s probes: %.4g ms;", "", e->ms);
    print_share(" added arithmetic shows by", evidence_of_work(e), 1);
    print_share(", added loads by", evidence_of_loads(e), 1);
    print_share("; half of the work-groups take", e->half_ms, e->ms);
    print_share(" of the time, loads from a cache", e->cached_ms, e->ms);
    print_share("; at the roofs its bytes alone would take", e->memory_share, 1);
    print_share(", its operations alone", e->work_share, 1);
    putchar('\n');
    if (probed->note[0])
        printf("%15s %s\n", "", probed->note);
    if (probed->limiter != LIMIT_UNKNOWN)
        printf("%15s %s: %s\n", "", limiter_name(probed->limiter), limiter_advice(probed->limiter));
}

static json_t *time_json(double ms)
{
    return ms >= 0 ? json_real(ms) : json_null();
}

static json_t *probed_json(const struct probed *probed)
{
    const struct evidence *e = &probed->evidence;
    json_t *object = json_pack("{s:s, s:s, s:f}", "limiter", limiter_name(probed->limiter), "advice",
                               limiter_advice(probed->limiter), "added", e->added);
    json_object_set_new(object, "ms", time_json(e->ms));
    json_object_set_new(object, "launch_ms", time_json(e->launch_ms));
    json_object_set_new(object, "more_arithmetic_ms", time_json(e->more_work_ms));
    json_object_set_new(object, "more_loads_ms", time_json(e->more_loads_ms));
    json_object_set_new(object, "half_groups_ms", time_json(e->half_ms));
    json_object_set_new(object, "cached_loads_ms", time_json(e->cached_ms));
    json_object_set_new(object, "bytes_alone", cli_json_real(e->memory_share));
    json_object_set_new(object, "operations_alone", cli_json_real(e->work_share));
    if (probed->note[0])
        json_object_set_new(object, "note", json_text(probed->note));
    return object;
}

void bench_print_closer(const struct climbed *result)
{
    for (size_t i = 0; i < result->fact_count; i++)
        print_facts(&result->facts[i]);
    if (result->was_probed)
        print_probed(&result->probed);
}

void bench_add_closer(json_t *row, const struct climbed *result)
{
    json_t *facts = json_array();
    for (size_t i = 0; i < result->fact_count; i++)
        json_array_append_new(facts, bench_facts_json(&result->facts[i]));
    if (result->fact_count)
        json_object_set(row, "facts", facts);
    json_decref(facts);
    if (result->was_probed)
        json_object_set_new(row, "probes", probed_json(&result->probed));
}

/* ---- Whether the probes can be believed ---- */

static int prove_one(const struct bench_run *run, int device, int index, json_t *list)
{
    struct proof proof;
    hone_error error = {0};
    if (proof_run(&proof, index, run->devices[device], &run->roofs[device], &error))
        return cli_fail(&run->common, &error);
    const bool found = proof.built == proof.probed.limiter;
    if (run->common.json) {
        json_t *object = probed_json(&proof.probed);
        json_object_set_new(object, "built", json_string(limiter_name(proof.built)));
        json_object_set_new(object, "what", json_string(proof.what));
        json_array_append_new(list, object);
        return EXIT_DONE;
    }
    printf("built for %s: %s\n%15s found: %s%s\n", limiter_name(proof.built), proof.what, "",
           limiter_name(proof.probed.limiter), found ? "" : "  <- not what it is built for");
    print_probed(&proof.probed);
    return EXIT_DONE;
}

int bench_prove_probes(const struct bench_run *run)
{
    int worst = EXIT_DONE;
    for (int d = 0; d < run->device_count; d++) {
        json_t *list = json_array();
        const hone_device_info *device = hone_device_get_info(run->devices[d]);
        if (!run->common.json)
            printf("probes on %s, driver %s\n", device->board[0] ? device->board : device->name,
                   device->driver_version);
        for (int i = 0; i < PROOF_COUNT && worst == EXIT_DONE; i++)
            worst = prove_one(run, d, i, list);
        if (run->common.json)
            json_array_append_new(run->report, json_pack("{s:s, s:i, s:O}", "table", "probes", "index",
                                                         (int)device->index, "kernels", list));
        json_decref(list);
    }
    return worst;
}
