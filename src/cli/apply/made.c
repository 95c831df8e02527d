/* SPDX-License-Identifier: BSD-2-Clause */
/* hone apply --update: what an output was made of and how, as an extended attribute of its file. It comes
 * with the file and goes with it, so that it is true after any interruption; where a file system keeps none,
 * everything is done again. */
#include "cli/apply/apply.h"

#include "base/hash.h"
#include "filter/chain.h"
#include "hone/version.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

static const char attribute[] = "user.hone.made";
enum { MADE_TEXT = SHA256_TEXT_SIZE + 64 };

/* Size and time: after a power cut, a file may be shorter than what was written to it. */
struct record {
    char key[SHA256_TEXT_SIZE];
    long long bytes, seconds;
    long nanoseconds;
};

static size_t record_text(const char *key, const struct stat *info, char text[MADE_TEXT])
{
    return (size_t)snprintf(text, MADE_TEXT, "%s %lld %lld %ld", key, (long long)info->st_size,
                            (long long)info->st_mtim.tv_sec, info->st_mtim.tv_nsec);
}

static bool read_record(struct record *record, const char *output)
{
    char text[MADE_TEXT];
    const ssize_t length = lgetxattr(output, attribute, text, sizeof text - 1);
    text[length > 0 ? length : 0] = '\0';
    return sscanf(text, "%64s %lld %lld %ld", record->key, &record->bytes, &record->seconds,
                  &record->nanoseconds) == 4;
}

static void add_number(struct sha256 *hash, double number)
{
    sha256_add(hash, &number, sizeof number);
}

/* A file by its size and the time of its last change: it may have moved. False for what is no file. */
static bool add_file(struct sha256 *hash, const char *path)
{
    struct stat info;
    if (!path || stat(path, &info) != 0 || !S_ISREG(info.st_mode))
        return false;
    const int64_t facts[] = {info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec};
    sha256_add(hash, facts, sizeof facts);
    return true;
}

/* What decides on the result. */
static void add_options(struct sha256 *hash, const struct apply_options *o)
{
    const char *const texts[] = {
        o->variant, o->config, o->background, o->alpha,  o->pages, o->write.compression,
        o->codec,   o->preset, o->frames,     o->planes, o->raw};
    const bool flags[] = {o->accept_damaged, o->reproducible, o->write.strip};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        sha256_add_text(hash, texts[i]);
    sha256_add(hash, flags, sizeof flags);
    add_number(hash, o->quality);
}

/* Images, weights and filters that the chain names. */
static void add_chain(struct sha256 *hash, const hone_chain *chain, const char *text)
{
    hone_parameter_info info;
    sha256_add_text(hash, text);
    for (size_t step = 0; step < hone_chain_length(chain); step++) {
        const struct own_source *own = chain->steps[step].c.filter->own;
        sha256_add_text(hash, own ? own->text : NULL);
        for (size_t i = 0; hone_filter_parameter(hone_chain_filter(chain, step), i, &info); i++)
            add_file(hash, hone_chain_parameter(chain, step, info.name));
    }
}

bool made_key(struct made *made, const struct engine *engine, const char *input)
{
    struct sha256 hash;
    uint8_t digest[SHA256_SIZE];
    sha256_init(&hash);
    sha256_add_text(&hash, HONE_VERSION);
    made->known = add_file(&hash, input);
    add_options(&hash, engine->options);
    add_chain(&hash, engine->given, engine->chain_text);
    sha256_end(&hash, digest);
    sha256_text(digest, made->key);
    return made->known;
}

bool made_is(const struct made *made, const char *output)
{
    struct record record;
    struct stat info;
    return made->known && lstat(output, &info) == 0 && read_record(&record, output) &&
           record.bytes == info.st_size && strcmp(record.key, made->key) == 0;
}

/* Whoever shortens a file themselves gives it another time. */
bool made_is_there(const char *output)
{
    struct record record;
    struct stat info;
    if (lstat(output, &info) != 0)
        return false;
    if (!S_ISREG(info.st_mode))
        return true;
    return info.st_size > 0 &&
           (!read_record(&record, output) || info.st_size >= record.bytes ||
            info.st_mtim.tv_sec != record.seconds || info.st_mtim.tv_nsec != record.nanoseconds);
}

void made_mark(const struct engine *engine, const struct made *made, int fd, const char *output)
{
    static _Atomic bool said;
    char text[MADE_TEXT];
    struct stat info;
    if (!made->known)
        return;
    const bool kept =
        fstat(fd, &info) == 0 && fsetxattr(fd, attribute, text, record_text(made->key, &info, text), 0) == 0;
    if (kept || !engine->options->update || said)
        return;
    said = true;
    cli_warn(&engine->options->common,
             "'%s' cannot keep what it was made of (%s): the next --update does it again", output,
             strerror(errno));
}
