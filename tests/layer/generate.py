#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes a wrapper for every entry of the OpenCL dispatch table: generate.py OUTPUT.c COMPILER [INCLUDE_FOLDER].

The prototypes come from the preprocessed CL/cl_icd.h; what a wrapper does follows from them: a call that returns cl_int
or has an errcode_ret can fail, a handle that comes back is an object made, an event that is asked for is one, too.
"""

import os
import re
import subprocess
import sys

# The first pattern that matches a name gives the code to fail with.
CODES = [
    (r"clCreate(Sub)?Buffer|clCreateImage|clCreatePipe", "CL_MEM_OBJECT_ALLOCATION_FAILURE"),
    (r"clBuildProgram", "CL_BUILD_PROGRAM_FAILURE"),
    (r"clCompileProgram", "CL_COMPILE_PROGRAM_FAILURE"),
    (r"clLinkProgram", "CL_LINK_PROGRAM_FAILURE"),
    (r"clCreateProgramWithBinary", "CL_INVALID_BINARY"),
    (r"clGetDeviceIDs", "CL_DEVICE_NOT_AVAILABLE"),
    (r"clEnqueueMap", "CL_MAP_FAILURE"),
    (r"clWaitForEvents", "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"),
    (r"clGetEventProfilingInfo", "CL_PROFILING_INFO_NOT_AVAILABLE"),
    (r"clFinish|clFlush|clEnqueue", "CL_OUT_OF_RESOURCES"),
    (r"", "CL_OUT_OF_HOST_MEMORY"),
]

# Nobody can recover from these, and they promise not to fail.
NEVER_FAILS = re.compile(r"clRetain|clRelease|clSVMFree|clUnload|clGetExtensionFunctionAddress|clSetContextDestructor")

KINDS = {"Context": "LAYER_CONTEXT", "CommandQueue": "LAYER_QUEUE", "MemObject": "LAYER_MEMORY",
         "Program": "LAYER_PROGRAM", "Kernel": "LAYER_KERNEL", "Sampler": "LAYER_SAMPLER", "Event": "LAYER_EVENT",
         "Device": "LAYER_DEVICE"}
HANDLES = {"cl_context": "LAYER_CONTEXT", "cl_command_queue": "LAYER_QUEUE", "cl_mem": "LAYER_MEMORY",
           "cl_program": "LAYER_PROGRAM", "cl_kernel": "LAYER_KERNEL", "cl_sampler": "LAYER_SAMPLER",
           "cl_event": "LAYER_EVENT"}


class Call:
    """One entry: its name, what it returns, its parameters as (declaration, type without name)."""

    def __init__(self, name, returns, parameters):
        self.name = name
        self.returns = returns
        self.parameters = parameters

    def has_code(self):
        return bool(self.parameters) and self.parameters[-1][1] == "cl_int *"

    def can_fail(self):
        known = self.returns == "cl_int" or self.has_code() or self.name == "clSVMAlloc"
        return known and not NEVER_FAILS.match(self.name)

    def event(self):
        """Index of the parameter that takes the event, or None."""
        last = [i for i, (_, kind) in enumerate(self.parameters) if kind == "cl_event *"]
        return last[0] if last and self.name.startswith("clEnqueue") else None

    def arguments(self):
        return ", ".join(f"p{i}" for i in range(len(self.parameters)))


def preprocessed(compiler, folder):
    defines = "".join(f"#define CL_USE_DEPRECATED_OPENCL_{v}_APIS\n" for v in ("1_0", "1_1", "1_2", "2_0", "2_1", "2_2"))
    source = "#define CL_TARGET_OPENCL_VERSION 300\n" + defines + "#include <CL/cl_icd.h>\n"
    command = [compiler, "-E", "-P", "-xc", "-"] + (["-I", folder] if folder else [])
    text = subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout
    return re.sub(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)", "", text)


def split(text):
    """Parameters, separated by commas outside of parentheses."""
    parts, depth, current = [], 0, ""
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            parts.append(current)
            current = ""
        else:
            current += letter
    parts.append(current)
    parts = [re.sub(r" ?(\*+) ?", r" \1", " ".join(part.split())) for part in parts]
    return [part for part in parts if part and part != "void"]


def parameter(text, number):
    """(declaration with the name pN, type)."""
    callback = re.match(r"^(.*\(\s*\*\s*)(\w*)(\s*\)\s*\(.*)$", text)
    if callback:
        return f"{callback.group(1)}p{number}{callback.group(3)}", "callback"
    match = re.match(r"^(.*?[\s*])(\w+)?\s*((?:\[\d*\])?)$", text)
    kind, name, array = (match.group(1), match.group(2), match.group(3)) if match else (text, None, "")
    if name in HANDLES or name in ("int", "char", "void") or (match and not name):
        kind = text  # there is no name
    if not match:
        kind = text
    kind = kind.strip()
    return f"{kind} p{number}{array}", kind


# Headers before 2025 have types of pointers, `cl_api_clFinish`, newer ones types of functions, `clFinish_t`.
TYPE = re.compile(r"typedef\s+([\w\s*]+?)(?:\(\s*\*\s*cl_api_(cl\w+)\s*\)|\s(cl\w+)_t)\s*\(([^;]*?)\)\s*;")
MEMBER = re.compile(r"(?:cl_api_(cl\w+)|(cl\w+)_t\s*\*)\s*(cl\w+)\s*;")


def read_calls(text):
    types = {}
    for returns, old_name, new_name, parameters in TYPE.findall(text):
        name = old_name or new_name
        types[name] = Call(name, " ".join(returns.split()), [parameter(p, i) for i, p in enumerate(split(parameters))])
    table = re.search(r"struct\s+_cl_icd_dispatch\s*\{(.*?)\}\s*cl_icd_dispatch", text, re.S).group(1)
    members = [(old_name or new_name, member) for old_name, new_name, member in MEMBER.findall(table)]
    members = [(name, member) for name, member in members if not re.search(r"D3D1|DX9", name)]  # Windows alone
    missing = [name for name, _ in members if name not in types]
    if len(members) < 100 or missing:
        sys.exit(f"generate.py: CL/cl_icd.h is not understood: {len(members)} entries, no prototype of {missing[:3]}")
    return [types[name] for name, member in members if name == member]


def failing(call):
    code = next(code for pattern, code in CODES if re.match(pattern, call.name))
    if call.returns == "cl_int":
        return f"return layer_code({code});"
    if call.has_code():
        last = f"p{len(call.parameters) - 1}"
        return f"{{\n        if ({last})\n            *{last} = layer_code({code});\n        return NULL;\n    }}"
    return "return NULL;"


def copied(call):
    """The bytes that a call copies, as an expression; None for one that copies none."""
    region = "p5[0] * p5[1] * p5[2]"
    for pattern, amount in ((r"clEnqueue(Read|Write)Buffer$", "p4"), (r"clEnqueueCopyBuffer$", "p5"),
                            (r"clEnqueue(Read|Write|Copy)BufferRect$", region),
                            (r"clEnqueueCopyBufferToImage$", "layer_image_bytes(p2, p5)"),
                            (r"clEnqueueCopyImageToBuffer$", "layer_image_bytes(p1, p4)")):
        if re.match(pattern, call.name):
            return amount
    return None


def enqueued(call, target, event, number):
    kind = call.returns if call.returns.endswith("*") else call.returns + " "
    worked = "result == CL_SUCCESS" if call.returns == "cl_int" else "result"
    count = [f"if ({worked})", f"    layer_copied({number}, {copied(call)});"] if copied(call) else []
    return [f"{kind}result = {target};", *count, f"if ({worked} && p{event})",
            f"    layer_made(LAYER_EVENT, *p{event}, {number});", "return result;"]


def body(call, number):
    """Statements after counting."""
    target = f"layer_target->{call.name}({call.arguments()})"
    event = call.event()
    release = re.match(r"clRelease(\w+)$", call.name)
    retain = re.match(r"clRetain(\w+)$", call.name)
    if release and release.group(1) in KINDS:
        return [f"layer_releasing({KINDS[release.group(1)]}, p0, {number});", f"return {target};"]
    if retain and retain.group(1) in KINDS:
        return [f"cl_int code = {target};", "if (code == CL_SUCCESS)",
                f"    layer_retained({KINDS[retain.group(1)]}, p0);", "return code;"]
    if call.name == "clCreateBuffer":
        return [f"cl_mem made = layer_create_buffer({call.arguments()});",
                "if (made && (p1 & CL_MEM_COPY_HOST_PTR))", f"    layer_copied({number}, p2);", "if (made)",
                f"    layer_made(LAYER_MEMORY, made, {number});", "return made;"]
    if call.name == "clBuildProgram":
        return [f"return layer_build_program({call.arguments()});"]
    if call.name == "clEnqueueNDRangeKernel":
        return ["if (!layer_launched(p1))", "    return layer_code(CL_OUT_OF_RESOURCES);"] + enqueued(call, target, event, number)
    if re.match(r"clEnqueue(Read|Write|Copy)BufferRect$", call.name):
        copy = "Copy" in call.name
        beyond = "layer_beyond(p1, p3, p5, p6)" + (" || layer_beyond(p2, p4, p5, p8)" if copy else "")
        return [f"if ({beyond})", "    return CL_INVALID_VALUE;"] + enqueued(call, target, event, number)
    if call.name == "clGetEventProfilingInfo":
        return [f"cl_int code = {target};", "if (code == CL_SUCCESS)", "    layer_stamped(p1, p3);", "return code;"]
    if call.name == "clSVMAlloc":
        return [f"void *made = {target};", "if (made)", f"    layer_made(LAYER_SHARED, made, {number});", "return made;"]
    if call.name == "clSVMFree":
        return ["if (p1)", f"    layer_releasing(LAYER_SHARED, p1, {number});", f"{target};"]
    if call.name == "clCreateSubDevices":
        return ["cl_uint count = 0;", f"cl_int code = layer_target->{call.name}(p0, p1, p2, p3, &count);",
                "if (p4)", "    *p4 = count;",
                "for (cl_uint i = 0; code == CL_SUCCESS && p3 && i < count && i < p2; i++)",
                f"    layer_made(LAYER_DEVICE, p3[i], {number});", "return code;"]
    if event is not None:
        return enqueued(call, target, event, number)
    if call.returns in HANDLES:
        return [f"{call.returns} made = {target};", "if (made)",
                f"    layer_made({HANDLES[call.returns]}, made, {number});", "return made;"]
    return [f"{target};"] if call.returns == "void" else [f"return {target};"]


def subject(call):
    """What the call is about, by which its device is known: (kind, expression); LAYER_NONE where that is nothing."""
    if call.name == "clCreateContext":
        return "LAYER_DEVICE", "p1 && p2 ? p2[0] : NULL"
    if call.name == "clWaitForEvents":
        return "LAYER_EVENT", "p0 && p1 ? p1[0] : NULL"
    kind = {**HANDLES, "cl_device_id": "LAYER_DEVICE"}.get(call.parameters[0][1] if call.parameters else "", "LAYER_NONE")
    return kind, "NULL" if kind == "LAYER_NONE" else "p0"


def wrapper(call, number):
    declarations = ", ".join(declaration for declaration, _ in call.parameters) or "void"
    kinds = [kind for _, kind in call.parameters]
    blocking = kinds.index("cl_bool") if call.name.startswith("clEnqueue") and "cl_bool" in kinds else None
    countable = "true" if call.can_fail() else "false"
    kind, object = subject(call)
    enter = f"layer_enter({number}, {countable}, __builtin_return_address(0), {kind}, {object})"
    lines = [f"static {call.returns} CL_API_CALL wrap_{call.name}({declarations})", "{"]
    if call.can_fail():
        lines += [f"    if ({enter})", f"        {failing(call)}" if "{" not in failing(call) else f"    {failing(call)}"]
    else:
        lines += [f"    {enter};"]
    if blocking is not None:
        lines += [f"    layer_blocks(p{blocking});"]
    return "\n".join(lines + ["    " + line for line in body(call, number)] + ["}"])


def generate(calls):
    parts = ["/* SPDX-License-Identifier: BSD-2-Clause */", "/* Made by generate.py. */", '#include "layer.h"', ""]
    parts += [wrapper(call, number) for number, call in enumerate(calls)]
    names = ",\n".join(f'    "{call.name}"' for call in calls)
    fills = "\n".join(f"    if (table->{c.name})\n        table->{c.name} = wrap_{c.name};" for c in calls)
    parts += [f"const char *const layer_call_names[] = {{\n{names}}};", f"const int layer_call_count = {len(calls)};",
              f"void layer_fill(cl_icd_dispatch *table)\n{{\n{fills}\n}}", ""]
    return "\n".join(parts)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    folder = sys.argv[3] if len(sys.argv) > 3 else ""
    text = generate(read_calls(preprocessed(sys.argv[2], folder)))
    temporary = sys.argv[1] + ".new"
    with open(temporary, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(temporary, sys.argv[1])


main()
