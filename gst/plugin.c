/* SPDX-License-Identifier: BSD-2-Clause */
/* The plugin: one element. It opens no device before a pipeline starts. */
#include "element.h"

#include "hone/version.h"

#define PACKAGE "hone"

static gboolean init(GstPlugin *plugin)
{
    return gst_element_register(plugin, "hone", GST_RANK_NONE, gst_hone_get_type());
}

GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, hone, "Image filters on any OpenCL device", init,
                  HONE_VERSION, "BSD", PACKAGE, "hone")
