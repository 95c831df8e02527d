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

hone_status apply_encode(const struct engine *engine, const struct item *item, int fd,
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
static hone_status begin_memory(struct store *store, const struct engine *engine, const struct item *item,
                                hone_error *error)
{
    store->fd = memfd_create("hone-output", MFD_CLOEXEC);
    if (store->fd < 0)
        return error_set(error, HONE_ERROR_MEMORY, "cannot take memory for the output: %s", strerror(errno));
    return check_sequence(engine, item, error);
}

hone_status store_begin(struct store *store, const struct engine *engine, const struct item *item,
                        const char *root, hone_error *error)
{
    if (apply_to_stdout(engine->options))
        return begin_memory(store, engine, item, error);
    TRY(root ? items_make_folders(item->output, root, error) : HONE_OK);
    TRY(guard_output_begin(&store->output, item->output, error));
    store->fd = store->output.file.fd;
    return HONE_OK;
}

hone_status store_commit(struct store *store, const struct engine *engine, const struct item *item,
                         hone_error *error)
{
    if (apply_to_stdout(engine->options))
        return apply_copy_to_stdout(store->fd)
                   ? HONE_OK
                   : error_io(error, "cannot write to standard output: %s", strerror(errno));
    made_mark(engine, &engine->made, store->fd, item->output);
    store->fd = -1; /* which goes with the output */
    return guard_output_commit(&store->output, engine->options->sync, error);
}

void store_abort(struct store *store)
{
    if (store->output.file.fd >= 0)
        guard_output_abort(&store->output);
    else if (store->fd >= 0)
        close(store->fd);
    store->fd = -1;
}

hone_status apply_store(const struct engine *engine, const struct item *item, const char *root,
                        const struct media_input *input, hone_error *error)
{
    struct store store = STORE_NONE;
    hone_status status = store_begin(&store, engine, item, root, error);
    THEN(status, apply_encode(engine, item, store.fd, input, error));
    THEN(status, store_commit(&store, engine, item, error));
    store_abort(&store);
    return status;
}
