# SPDX-License-Identifier: BSD-2-Clause
# Makes C of the kernel files: cmake -DSOURCE=src -DOUT=folder -P embed.cmake
# registry_table.c: for every folder src/filters/NAME the description hone_filter_NAME and its *.cl files as text.

function(bytes_of file out)
  file(READ ${file} hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
  string(REGEX REPLACE "(................................................................................)" "\\1\n"
         hex "${hex}")
  set(${out} "${hex}0x00" PARENT_SCOPE)
endfunction()

# Written only when it changed, so that nothing is compiled for nothing.
function(write_if_new file text)
  set(old "")
  if(EXISTS ${file})
    file(READ ${file} old)
  endif()
  if(NOT old STREQUAL text)
    file(WRITE ${file} "${text}")
  endif()
endfunction()

file(MAKE_DIRECTORY ${OUT})
bytes_of(${SOURCE}/cl/selftest.cl selftest)
write_if_new(${OUT}/selftest_source.c "const char selftest_source[];\nconst char selftest_source[] = {\n${selftest}};\n")

bytes_of(${SOURCE}/../data/tuning/shipped.jsonl shipped)
write_if_new(${OUT}/shipped_text.c "extern const char shipped_text[];\nconst char shipped_text[] = {\n${shipped}};\n")

bytes_of(${SOURCE}/filter/kernel.clh header)
bytes_of(${SOURCE}/filter/fuse.clh fuse)
set(head "#include \"filter/registry.h\"\n\n")
set(table "")
file(GLOB folders LIST_DIRECTORIES true ${SOURCE}/filters/*)
list(SORT folders)
foreach(folder ${folders})
  if(EXISTS ${folder}/filter.c)
    get_filename_component(name ${folder} NAME)
    string(APPEND head "extern const struct hone_filter hone_filter_${name};\n")
    set(sources "")
    file(GLOB kernels ${folder}/*.cl ${folder}/*.clh)
    list(SORT kernels)
    foreach(kernel ${kernels})
      get_filename_component(file ${kernel} NAME)
      string(REGEX REPLACE "[^a-z0-9]" "_" symbol "${name}_${file}")
      bytes_of(${kernel} text)
      string(APPEND head "static const char ${symbol}[] = {\n${text}};\n")
      string(APPEND sources "    {\"${file}\", ${symbol}},\n")
    endforeach()
    string(APPEND head "static const struct filter_source ${name}_sources[] = {\n${sources}    {0}};\n\n")
    string(APPEND table "    {&hone_filter_${name}, ${name}_sources},\n")
  endif()
endforeach()
string(APPEND head "extern const struct filter_entry registry_entries[];\nextern const char registry_header_text[], registry_fuse_text[];\n"
       "const char registry_header_text[] = {\n${header}};\n"
       "const char registry_fuse_text[] = {\n${fuse}};\n"
       "const struct filter_entry registry_entries[] = {\n${table}    {0}};\n")
write_if_new(${OUT}/registry_table.c "${head}")
file(TOUCH_NOCREATE ${OUT}/registry_table.c ${OUT}/selftest_source.c ${OUT}/shipped_text.c)
