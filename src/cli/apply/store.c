/* SPDX-License-Identifier: BSD-2-Clause */
/* Where results go: a file that appears whole or not at all, or standard output. */
#include "cli/apply/apply.h"

#include "base/error.h"
#include "cli/guard.h"
#include "filter/chain.h"
#include "media/media.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

bool apply_to_stdout(const struct apply_options *options)
{
    return strcmp(options->output, "-") == 0;
}

static hone_status encode(const struct engine *engine, const struct item *item, int fd,
                          const struct media_input *input, hone_error *error)
{
    struct media_write_options options = engine->options->write;
    options.edges = engine->edges;
    options.edge_count = engine->edge_count;
    options.pages = engine->pages;
    options.turned = chain_turns(engine->given);
    return media_write(fd, item->output, &engine->output, engine->stack ? engine->stack : engine->out.data,
                       input, &options, error);
}

static hone_status store_file(const struct engine *engine, const struct item *item, const char *root,
                              const struct media_input *input, hone_error *error)
{
    struct guarded_output output = GUARDED_OUTPUT_NONE;
    hone_status status = root ? items_make_folders(item->output, root, error) : HONE_OK;
    THEN(status, guard_output_begin(&output, item->output, error));
    THEN(status, encode(engine, item, output.file.fd, input, error));
    if (!status)
        made_mark(engine, &engine->made, output.file.fd, item->output);
    THEN(status, guard_output_commit(&output, engine->options->sync, error));
    guard_output_abort(&output);
    return status;
}

bool apply_copy_to_stdout(int fd)
{
    char part[65536];
    ssize_t count = -1;
    if (lseek(fd, 0, SEEK_SET) != 0)
        return false;
    while ((count = read(fd, part, sizeof part)) > 0)
        if (!file_write_all(STDOUT_FILENO, part, (size_t)count))
            return false;
    return count == 0;
}

/* Formats that do not say where they end hold one image alone. */
static hone_status check_sequence(const struct engine *engine, const struct item *item, hone_error *error)
{
    if (!engine->stream || media_takes(item->output, MEDIA_OPTION_SEQUENCE) ||
        !media_stream_more(engine->stream))
        return HONE_OK;
    return error_usage(error,
                       "several images came, and %s files cannot follow each other in one stream: "
                       "--format ppm, pgm, pam, pfm, png, jpg or webp",
                       strrchr(item->output, '.'));
}

/* By way of memory: formats are written to what can be sought in, and nothing comes out when that fails. */
static hone_status store_stdout(const struct engine *engine, const struct item *item,
                                const struct media_input *input, hone_error *error)
{
    int fd = memfd_create("hone-output", MFD_CLOEXEC);
    if (fd < 0)
        return error_set(error, HONE_ERROR_MEMORY, "cannot take memory for the output: %s", strerror(errno));
    hone_status status = check_sequence(engine, item, error);
    THEN(status, encode(engine, item, fd, input, error));
    if (!status && !apply_copy_to_stdout(fd))
        status = error_io(error, "cannot write to standard output: %s", strerror(errno));
    close(fd);
    return status;
}

hone_status apply_store(const struct engine *engine, const struct item *item, const char *root,
                        const struct media_input *input, hone_error *error)
{
    return apply_to_stdout(engine->options) ? store_stdout(engine, item, input, error)
                                            : store_file(engine, item, root, input, error);
}
