/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Programs that were compiled ahead, at installation: one file for all users of the machine.
 *
 * With an empty cache, PoCL takes a second or two for the first program, most of it to read its own library.
 * `hone cache precompile` compiles what the usual filters need and puts PoCL's files and the self-test's
 * verdicts into one file. A process that would compile a program which the file has copies PoCL's files from
 * there. What was made by another version of hone, of PoCL, or for another processor, is never asked for:
 * names are digests of all that.
 *
 * The file holds machine code that the driver loads unchecked. So it must belong to root or to the user, in
 * folders that nobody else can write to, and each part must have the digest that its index tells.
 */
#pragma once

#include "base/file.h"
#include "base/text.h"
#include "hone/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where the file of the installation is, or would be: that beside the program if there is one. */
void precompiled_usual_place(char path[FILE_BESIDE_SIZE]);

/* Whether the file has the program of this name (programs_digest). Threads: safe, like all here. */
bool precompiled_has(const char *name);

/* Copies what PoCL needs for the program into the folder that it uses. False where the file has no such
 * program, or it could not be copied. */
bool precompiled_take(const char *name);

/* ---- Making the file ---- */

/* What will be in it. All zero at first. */
struct precompiler {
    struct text index, body;
    struct text seen; /* PoCL's programs and ours that were there at the last look */
    size_t programs;
    bool failed;
};

/* Adds what this process compiled, or took from an older file, since the last call; it has run. */
void precompiler_add(struct precompiler *made);
/* Adds what another process has written with precompiler_write, but for what is there already.
 * HONE_ERROR_IO. */
hone_status precompiler_merge(struct precompiler *made, const char *path, hone_error *error);
/* Adds the verdicts and writes the file. HONE_ERROR_IO; an older file is then left as it was. */
hone_status precompiler_write(struct precompiler *made, const char *path, hone_error *error);
void precompiler_finish(struct precompiler *made);
