# SPDX-License-Identifier: BSD-2-Clause
"""What limits a variant in a case: asks `hone bench --probe`, which adds arithmetic and loads and sees what they cost. The variant
runs in the configuration that was chosen."""
import functools
import json
import os
import subprocess


@functools.lru_cache(None)
def step_of(tools, name, variant):
    """The row of `hone bench` that runs a variant: a rung, or the variant by its own name."""
    rungs = tools.described(name)['rungs']
    return next((rung['name'] for rung in rungs if rung['variant'] == variant), variant)


def percent(part, whole):
    return '-' if part is None or not whole else f'{100 * part / whole:.0f} %'


def shown(row, what):
    """How much of the added work costs time."""
    more = row[what]
    return percent(None if more is None else more - row['ms'], row['added'] * row['ms'])


def told(probes):
    if not probes:
        return 'not probed'
    if probes['ms'] is None:
        return f"not probed: {probes.get('note') or 'no answer'}"
    return (f"{probes['limiter']}: added arithmetic shows by {shown(probes, 'more_arithmetic_ms')}, loads by "
            f"{shown(probes, 'more_loads_ms')}; operations alone {percent(probes['operations_alone'], 1)}, bytes "
            f"{percent(probes['bytes_alone'], 1)}")


def limit_of(tools, chain, case, variant, config):
    """A phrase; "not probed" where there is no answer."""
    wanted = [os.path.join(tools.build, 'hone'), 'bench', chain, '--sizes', '%dx%d' % case.size, '--format',
              f'{case.kind}x{case.channels}', '--rung', step_of(tools, chain.split()[0], variant), '--config', config, '--probe', '--json']
    done = subprocess.run(wanted, capture_output=True, text=True, check=False)
    try:
        answer = json.loads(done.stdout)
        return told(answer[0]['devices'][0]['rows'][0].get('probes'))
    except (ValueError, LookupError, TypeError):
        return 'not probed'
