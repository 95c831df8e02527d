/* SPDX-License-Identifier: BSD-2-Clause */
/* libvips itself: starting it, what it says, which suffixes it knows. */
#include "media/vips/internal.h"

#include "base/error.h"

#include <pthread.h>
#include <string.h>

static void ignore_message(const gchar *domain, GLogLevelFlags level, const gchar *message, gpointer user)
{
    (void)domain, (void)level, (void)message, (void)user;
}

static bool started;

static void start(void)
{
    if (vips_init("hone") != 0)
        return;
    /* What it warns of is in its error buffer too, which is where we take it from. */
    g_log_set_handler("VIPS", G_LOG_LEVEL_WARNING | G_LOG_LEVEL_MESSAGE | G_LOG_LEVEL_INFO, ignore_message,
                      NULL);
    vips_cache_set_max(0);
    /* ImageMagick starts other programs for some formats. */
    vips_operation_block_set("VipsForeignLoadMagick", TRUE);
    started = true;
}

const char *vips_running_version(void)
{
    return vips_load(NULL) ? NULL : vips_version_string();
}

hone_status vips_begin(hone_error *error)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    TRY(vips_load(error));
    pthread_once(&once, start);
    if (started)
        return HONE_OK;
    char said[512];
    vips_said(said, sizeof said);
    return error_set(error, HONE_ERROR_INTERNAL, "libvips does not start: %s", said);
}

static void hold_few_rows(void)
{
    char *arguments[] = {"hone", "--vips-tile-height=16", "--vips-fatstrip-height=16", NULL},
         **words = arguments;
    int count = 3;
    GOptionContext *context = g_option_context_new(NULL);
    GOptionGroup *group = g_option_group_new("vips", "", "", NULL, NULL);
    vips_add_option_entries(group);
    g_option_context_set_main_group(context, group);
    g_option_context_parse(context, &count, &words, NULL);
    g_option_context_free(context);
}

void vips_hold_few_rows(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, hold_few_rows);
}

void vips_said(char *text, size_t size)
{
    char *buffer = vips_error_buffer_copy(); /* empties it */
    size_t length = strlen(buffer);
    while (length > 0 && (buffer[length - 1] == '\n' || buffer[length - 1] == ' '))
        buffer[--length] = '\0';
    for (char *at = buffer; *at; at++)
        if (*at == '\n')
            *at = ';';
    g_snprintf(text, size, "%s", length ? buffer : "libvips gives no reason");
    g_free(buffer);
}

hone_status vips_bad(const struct media_input *input, const char *what, const char *advice, hone_error *error)
{
    char said[512];
    vips_said(said, sizeof said);
    return media_bad(input, error, "%s: %s%s", what, said, advice);
}

/* ---- Suffixes ---- */

/* Tables of numbers are images to libvips, but not to someone who filters a folder of pictures. */
static bool is_table(const char *suffix)
{
    return strcmp(suffix, ".csv") == 0 || strcmp(suffix, ".mat") == 0;
}

struct wanted {
    const char *suffix;
    bool hardened;
};

static void *has_suffix(GType type, void *user)
{
    const struct wanted *wanted = user;
    const VipsForeignClass *loader = g_type_class_ref(type);
    void *found = NULL;
    for (const char **at = loader->suffs; at && *at && !found; at++)
        if (strcmp(*at, wanted->suffix) == 0 && (!wanted->hardened || vips_is_hardened(g_type_name(type))))
            found = user;
    return found;
}

bool media_vips_knows(const char *suffix, bool hardened)
{
    struct wanted wanted = {suffix, hardened};
    if (vips_begin(NULL) || is_table(suffix))
        return false;
    return vips_type_map_all(g_type_from_name("VipsForeignLoad"), has_suffix, &wanted) != NULL;
}
