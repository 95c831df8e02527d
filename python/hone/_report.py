# SPDX-License-Identifier: BSD-2-Clause
"""What the last call did."""

import threading

_of_thread = threading.local()


class Report:
    """How a result came about: what hone.last_report() returns.

    chain: the chain in canonical form.
    device: the properties of the device, as hone.devices() lists them.
    steps: for each filter of the chain a dictionary: filter, variant, config, origin, passes, scratch_bytes, fused_with.
    planes: how many images the stack had.
    planned: whether a plan had to be made (False: one was at hand).
    copies: what hone copied on the way, as {"uploads": (count, bytes), "downloads": ..., "moves": ..., "conversions": ...,
        "maps": ...}.
    gathered, scattered: bytes that had to be copied here because an array's rows or pixels do not lie as hone reads
        and writes them, or because `out` shares memory with the image.
    converted: whether the image was no array in memory and NumPy made one of it.
    seconds: time on the device, if it was opened with profile=True; else 0.
    """

    def __init__(self, chain, device, steps, planes, planned, counts, converted):
        self.chain, self.steps, self.planes, self.planned = chain, steps, planes, planned
        self.copies, self.gathered, self.scattered, self.seconds = counts
        self.converted = converted
        self._device = device

    @property
    def device(self):
        return self._device.info

    @property
    def copied(self):
        """Bytes of pixels copied anywhere; 0: kernels worked in the arrays' own memory."""
        return self.gathered + self.scattered + sum(size for _, size in self.copies.values())

    def __str__(self):
        lines = [f"{self.chain}  on {self._device!r}, {self.planes} image{'s' if self.planes != 1 else ''}, "
                 + ("a new plan" if self.planned else "an old plan")]
        for step in self.steps:
            how = f"fused with {step['fused_with']}" if step["fused_with"] else f"{step['variant']} {step['config']}".strip()
            lines.append(f"  {step['filter']}: {how} ({step['origin']})")
        kinds = [f"{name} {count} ({size} bytes)" for name, (count, size) in self.copies.items() if count]
        for name in ("gathered", "scattered"):
            if getattr(self, name):
                kinds.append(f"{name} {getattr(self, name)} bytes")
        lines.append("  copies: " + (", ".join(kinds) or "none"))
        return "\n".join(lines)

    def __repr__(self):
        return f"<hone.Report of {self.chain!r}: {self.copied} bytes copied>"


def keep(report):
    _of_thread.report = report


def last_report():
    """The Report of this thread's last call of a filter, a chain or a Plan; None before the first."""
    return getattr(_of_thread, "report", None)
