/* SPDX-License-Identifier: BSD-2-Clause */
/* The functions of libvips, GLib and libtiff that hone calls, by way of its module vips.so, which alone is
 * linked with them. They bring a hundred libraries: their relocations take longer than hone takes for an
 * image of its own formats, and the loader would look in each of them for the symbols of an OpenCL driver.
 * vips_begin loads them. The files that call them need not know: here the names become pointers, and a call
 * that the lists lack fails to link. */
#pragma once

#include <stddef.h>
#include <vips/vips.h>
#ifdef HONE_HAVE_TIFF
#include <tiffio.h>
#endif

/* clang-format off */
#define VIPS_CALLS(X) \
    X(vips_LabQ2Lab) \
    X(vips_add_option_entries) \
    X(vips_array_double_get_type) \
    X(vips_array_int_get_type) \
    X(vips_black) \
    X(vips_blob_get_type) \
    X(vips_cache_set_max) \
    X(vips_colourspace) \
    X(vips_concurrency_get) \
    X(vips_concurrency_set) \
    X(vips_copy) \
    X(vips_enum_from_nick) \
    X(vips_enum_nick) \
    X(vips_error) \
    X(vips_error_buffer) \
    X(vips_error_buffer_copy) \
    X(vips_error_clear) \
    X(vips_foreign_find_load) \
    X(vips_foreign_find_load_source) \
    X(vips_foreign_tiff_compression_get_type) \
    X(vips_format_sizeof_unsafe) \
    X(vips_gifsave_target) \
    X(vips_heifsave_buffer) \
    X(vips_heifsave_target) \
    X(vips_icc_transform) \
    X(vips_image_generate) \
    X(vips_image_get_array_int) \
    X(vips_image_get_blob) \
    X(vips_image_get_int) \
    X(vips_image_get_n_pages) \
    X(vips_image_get_orientation) \
    X(vips_image_get_page_height) \
    X(vips_image_get_string) \
    X(vips_image_get_typeof) \
    X(vips_image_init_fields) \
    X(vips_image_map) \
    X(vips_image_new) \
    X(vips_image_new_from_buffer) \
    X(vips_image_new_from_file) \
    X(vips_image_new_from_memory) \
    X(vips_image_new_from_memory_copy) \
    X(vips_image_new_from_source) \
    X(vips_image_pipelinev) \
    X(vips_image_remove) \
    X(vips_image_set) \
    X(vips_image_set_array_double) \
    X(vips_image_set_array_int) \
    X(vips_image_set_blob_copy) \
    X(vips_image_set_double) \
    X(vips_image_set_int) \
    X(vips_image_set_string) \
    X(vips_image_write_to_memory) \
    X(vips_init) \
    X(vips_interpretation_get_type) \
    X(vips_jpegsave_target) \
    X(vips_maplut) \
    X(vips_operation_block_set) \
    X(vips_orimage) \
    X(vips_pngsave_target) \
    X(vips_rad2float) \
    X(vips_ref_string_get_type) \
    X(vips_region_new) \
    X(vips_region_prepare) \
    X(vips_sequential) \
    X(vips_source_custom_new) \
    X(vips_source_new_from_descriptor) \
    X(vips_target_custom_new) \
    X(vips_target_get_type) \
    X(vips_target_new_to_memory) \
    X(vips_tiffsave_target) \
    X(vips_type_map_all) \
    X(vips_value_get_array_double) \
    X(vips_value_get_array_int) \
    X(vips_value_get_blob) \
    X(vips_value_get_ref_string) \
    X(vips_version_string) \
    X(vips_webpsave_target) \
    VIPS_NEW_CALLS(X)

#ifdef VIPS_DEFAULT_MAX_COORD /* from 8.16 on, VIPS_MAX_COORD is a call */
#define VIPS_NEW_CALLS(X) X(vips_max_coord_get)
#else
#define VIPS_NEW_CALLS(X)
#endif

#define GLIB_CALLS(X) \
    X(g_free) \
    X(g_log_set_handler) \
    X(g_object_class_find_property) \
    X(g_object_unref) \
    X(g_option_context_free) \
    X(g_option_context_new) \
    X(g_option_context_parse) \
    X(g_option_context_set_main_group) \
    X(g_option_group_new) \
    X(g_signal_connect_data) \
    X(g_snprintf) \
    X(g_type_check_instance_cast) \
    X(g_type_check_value_holds) \
    X(g_type_class_ref) \
    X(g_type_from_name) \
    X(g_type_name) \
    X(g_value_get_boxed) \
    X(g_value_get_double) \
    X(g_value_get_int) \
    X(g_value_get_string)

#ifdef HONE_HAVE_TIFF
#define TIFF_CALLS(X) \
    X(TIFFClose) \
    X(TIFFComputeStrip) \
    X(TIFFFdOpen) \
    X(TIFFGetField) \
    X(TIFFGetFieldDefaulted) \
    X(TIFFIsTiled) \
    X(TIFFNumberOfDirectories) \
    X(TIFFReadDirectory) \
    X(TIFFReadScanline) \
    X(TIFFReadTile) \
    X(TIFFRewriteDirectory) \
    X(TIFFScanlineSize) \
    X(TIFFSetDirectory) \
    X(TIFFSetSubDirectory) \
    X(TIFFSetField) \
    X(TIFFTileSize)
#else
#define TIFF_CALLS(X)
#endif
/* clang-format on */

/* Exported by the module. The first two members tell whether command and module were built together. */
#define VIPS_CALL_MEMBER(name) __typeof__(name) *name;
struct vips_calls {
    size_t size;
    const char *version;
    VIPS_CALLS(VIPS_CALL_MEMBER)
    GLIB_CALLS(VIPS_CALL_MEMBER)
    TIFF_CALLS(VIPS_CALL_MEMBER)
};

#define VIPS_CALLS_SYMBOL "hone_vips_calls"

/* After vips_begin, which loads them. */
const struct vips_calls *vips_calls(void);

#ifndef HONE_VIPS_MODULE_ITSELF
/* clang-format off */
#define vips_LabQ2Lab (vips_calls()->vips_LabQ2Lab)
#define vips_add_option_entries (vips_calls()->vips_add_option_entries)
#define vips_array_double_get_type (vips_calls()->vips_array_double_get_type)
#define vips_array_int_get_type (vips_calls()->vips_array_int_get_type)
#define vips_black (vips_calls()->vips_black)
#define vips_blob_get_type (vips_calls()->vips_blob_get_type)
#define vips_cache_set_max (vips_calls()->vips_cache_set_max)
#define vips_colourspace (vips_calls()->vips_colourspace)
#define vips_concurrency_get (vips_calls()->vips_concurrency_get)
#define vips_concurrency_set (vips_calls()->vips_concurrency_set)
#define vips_copy (vips_calls()->vips_copy)
#define vips_enum_from_nick (vips_calls()->vips_enum_from_nick)
#define vips_enum_nick (vips_calls()->vips_enum_nick)
#define vips_error (vips_calls()->vips_error)
#define vips_error_buffer (vips_calls()->vips_error_buffer)
#define vips_error_buffer_copy (vips_calls()->vips_error_buffer_copy)
#define vips_error_clear (vips_calls()->vips_error_clear)
#define vips_foreign_find_load (vips_calls()->vips_foreign_find_load)
#define vips_foreign_find_load_source (vips_calls()->vips_foreign_find_load_source)
#define vips_foreign_tiff_compression_get_type (vips_calls()->vips_foreign_tiff_compression_get_type)
#define vips_format_sizeof_unsafe (vips_calls()->vips_format_sizeof_unsafe)
#define vips_gifsave_target (vips_calls()->vips_gifsave_target)
#define vips_heifsave_buffer (vips_calls()->vips_heifsave_buffer)
#define vips_heifsave_target (vips_calls()->vips_heifsave_target)
#define vips_icc_transform (vips_calls()->vips_icc_transform)
#define vips_image_generate (vips_calls()->vips_image_generate)
#define vips_image_get_array_int (vips_calls()->vips_image_get_array_int)
#define vips_image_get_blob (vips_calls()->vips_image_get_blob)
#define vips_image_get_int (vips_calls()->vips_image_get_int)
#define vips_image_get_n_pages (vips_calls()->vips_image_get_n_pages)
#define vips_image_get_orientation (vips_calls()->vips_image_get_orientation)
#define vips_image_get_page_height (vips_calls()->vips_image_get_page_height)
#define vips_image_get_string (vips_calls()->vips_image_get_string)
#define vips_image_get_typeof (vips_calls()->vips_image_get_typeof)
#define vips_image_init_fields (vips_calls()->vips_image_init_fields)
#define vips_image_map (vips_calls()->vips_image_map)
#define vips_image_new (vips_calls()->vips_image_new)
#define vips_image_new_from_buffer (vips_calls()->vips_image_new_from_buffer)
#define vips_image_new_from_file (vips_calls()->vips_image_new_from_file)
#define vips_image_new_from_memory (vips_calls()->vips_image_new_from_memory)
#define vips_image_new_from_memory_copy (vips_calls()->vips_image_new_from_memory_copy)
#define vips_image_new_from_source (vips_calls()->vips_image_new_from_source)
#define vips_image_pipelinev (vips_calls()->vips_image_pipelinev)
#define vips_image_remove (vips_calls()->vips_image_remove)
#define vips_image_set (vips_calls()->vips_image_set)
#define vips_image_set_array_double (vips_calls()->vips_image_set_array_double)
#define vips_image_set_array_int (vips_calls()->vips_image_set_array_int)
#define vips_image_set_blob_copy (vips_calls()->vips_image_set_blob_copy)
#define vips_image_set_double (vips_calls()->vips_image_set_double)
#define vips_image_set_int (vips_calls()->vips_image_set_int)
#define vips_image_set_string (vips_calls()->vips_image_set_string)
#define vips_image_write_to_memory (vips_calls()->vips_image_write_to_memory)
#define vips_init (vips_calls()->vips_init)
#define vips_interpretation_get_type (vips_calls()->vips_interpretation_get_type)
#define vips_jpegsave_target (vips_calls()->vips_jpegsave_target)
#define vips_maplut (vips_calls()->vips_maplut)
#define vips_max_coord_get (vips_calls()->vips_max_coord_get)
#define vips_operation_block_set (vips_calls()->vips_operation_block_set)
#define vips_orimage (vips_calls()->vips_orimage)
#define vips_pngsave_target (vips_calls()->vips_pngsave_target)
#define vips_rad2float (vips_calls()->vips_rad2float)
#define vips_ref_string_get_type (vips_calls()->vips_ref_string_get_type)
#define vips_region_new (vips_calls()->vips_region_new)
#define vips_region_prepare (vips_calls()->vips_region_prepare)
#define vips_sequential (vips_calls()->vips_sequential)
#define vips_source_custom_new (vips_calls()->vips_source_custom_new)
#define vips_source_new_from_descriptor (vips_calls()->vips_source_new_from_descriptor)
#define vips_target_custom_new (vips_calls()->vips_target_custom_new)
#define vips_target_get_type (vips_calls()->vips_target_get_type)
#define vips_target_new_to_memory (vips_calls()->vips_target_new_to_memory)
#define vips_tiffsave_target (vips_calls()->vips_tiffsave_target)
#define vips_type_map_all (vips_calls()->vips_type_map_all)
#define vips_value_get_array_double (vips_calls()->vips_value_get_array_double)
#define vips_value_get_array_int (vips_calls()->vips_value_get_array_int)
#define vips_value_get_blob (vips_calls()->vips_value_get_blob)
#define vips_value_get_ref_string (vips_calls()->vips_value_get_ref_string)
#define vips_version_string (vips_calls()->vips_version_string)
#define vips_webpsave_target (vips_calls()->vips_webpsave_target)
#define g_free (vips_calls()->g_free)
#define g_log_set_handler (vips_calls()->g_log_set_handler)
#define g_object_class_find_property (vips_calls()->g_object_class_find_property)
#define g_object_unref (vips_calls()->g_object_unref)
#define g_option_context_free (vips_calls()->g_option_context_free)
#define g_option_context_new (vips_calls()->g_option_context_new)
#define g_option_context_parse (vips_calls()->g_option_context_parse)
#define g_option_context_set_main_group (vips_calls()->g_option_context_set_main_group)
#define g_option_group_new (vips_calls()->g_option_group_new)
#define g_signal_connect_data (vips_calls()->g_signal_connect_data)
#define g_snprintf (vips_calls()->g_snprintf)
#define g_type_check_instance_cast (vips_calls()->g_type_check_instance_cast)
#define g_type_check_value_holds (vips_calls()->g_type_check_value_holds)
#define g_type_class_ref (vips_calls()->g_type_class_ref)
#define g_type_from_name (vips_calls()->g_type_from_name)
#define g_type_name (vips_calls()->g_type_name)
#define g_value_get_boxed (vips_calls()->g_value_get_boxed)
#define g_value_get_double (vips_calls()->g_value_get_double)
#define g_value_get_int (vips_calls()->g_value_get_int)
#define g_value_get_string (vips_calls()->g_value_get_string)
#ifdef HONE_HAVE_TIFF
#define TIFFClose (vips_calls()->TIFFClose)
#define TIFFComputeStrip (vips_calls()->TIFFComputeStrip)
#define TIFFFdOpen (vips_calls()->TIFFFdOpen)
#define TIFFGetField (vips_calls()->TIFFGetField)
#define TIFFGetFieldDefaulted (vips_calls()->TIFFGetFieldDefaulted)
#define TIFFIsTiled (vips_calls()->TIFFIsTiled)
#define TIFFNumberOfDirectories (vips_calls()->TIFFNumberOfDirectories)
#define TIFFReadDirectory (vips_calls()->TIFFReadDirectory)
#define TIFFReadScanline (vips_calls()->TIFFReadScanline)
#define TIFFReadTile (vips_calls()->TIFFReadTile)
#define TIFFRewriteDirectory (vips_calls()->TIFFRewriteDirectory)
#define TIFFScanlineSize (vips_calls()->TIFFScanlineSize)
#define TIFFSetDirectory (vips_calls()->TIFFSetDirectory)
#define TIFFSetSubDirectory (vips_calls()->TIFFSetSubDirectory)
#define TIFFSetField (vips_calls()->TIFFSetField)
#define TIFFTileSize (vips_calls()->TIFFTileSize)
#endif
/* clang-format on */
#endif
