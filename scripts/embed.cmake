# SPDX-License-Identifier: BSD-2-Clause
# Makes C of the kernel files: cmake -DSOURCE=src -DOUT=folder -P embed.cmake
# registry_table.c: for every folder src/filters/NAME the description hone_filter_NAME; all *.cl and *.clh files as text.

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

# The seeds' figures, for the command alone: a text for each file, the last one (the guide) first.
set(seeds "")
set(count 0)
file(GLOB documents ${SOURCE}/../data/seeds/*.json)
list(SORT documents)
foreach(document ${documents})
  bytes_of(${document} text)
  string(APPEND seeds "static const char text${count}[] = {\n${text}};\n")
  math(EXPR count "${count} + 1")
endforeach()
string(APPEND seeds "extern const char *const seeds_texts[];\nconst char *const seeds_texts[] = {")
foreach(document ${documents})
  math(EXPR count "${count} - 1")
  string(APPEND seeds "text${count}, ")
endforeach()
write_if_new(${OUT}/seeds_text.c "${seeds}0};\n")

# What the same files say of the speed of single rungs, for everybody.
function(add_gains of out)
  set(gains "${${out}}")
  string(JSON chain GET "${of}" chain)
  string(REGEX REPLACE " .*" "" filter "${chain}")
  string(JSON rows LENGTH "${of}" rows)
  foreach(row RANGE 1 ${rows})
    math(EXPR row "${row} - 1")
    string(JSON rung GET "${of}" rows ${row} rung)
    string(JSON gain ERROR_VARIABLE none GET "${of}" rows ${row} gain)
    if(gain MATCHES "^[0-9.]+$") # lists are of several sizes
      string(APPEND gains "    {\"${filter}\", \"${rung}\", ${gain}},\n")
    endif()
  endforeach()
  set(${out} "${gains}" PARENT_SCOPE)
endfunction()

set(gains "")
foreach(document ${documents})
  file(READ ${document} json)
  string(JSON tables LENGTH "${json}" tables)
  foreach(table RANGE 1 ${tables})
    math(EXPR table "${table} - 1")
    string(JSON of GET "${json}" tables ${table})
    add_gains("${of}" gains)
  endforeach()
endforeach()
write_if_new(${OUT}/rung_gains.c "#include \"filter/registry.h\"\n
extern const struct rung_gain rung_gains[];
const struct rung_gain rung_gains[] = {\n${gains}    {0}};\n")

# The kernels of `hone bench experiments`, for the command alone.
set(texts "")
set(files "")
set(number 0)
file(GLOB kernels RELATIVE ${SOURCE}/lab/experiments ${SOURCE}/lab/experiments/*.cl)
list(SORT kernels)
foreach(kernel ${kernels})
  bytes_of(${SOURCE}/lab/experiments/${kernel} text)
  string(APPEND texts "static const char text${number}[] = {\n${text}};\n")
  string(APPEND files "    {\"${kernel}\", text${number}},\n")
  math(EXPR number "${number} + 1")
endforeach()
write_if_new(${OUT}/experiments_text.c "#include \"lab/experiments/internal.h\"\n\n${texts}
const struct experiment_file experiment_files[] = {\n${files}    {0}};\n")

set(files "")
set(texts "")
set(number 0)
file(GLOB kernels RELATIVE ${SOURCE} ${SOURCE}/filter/*.clh ${SOURCE}/filter/own/*.clh ${SOURCE}/filters/*.clh ${SOURCE}/filters/*/*.cl
     ${SOURCE}/filters/*/*.clh)
list(SORT kernels)
foreach(kernel ${kernels})
  bytes_of(${SOURCE}/${kernel} text)
  string(APPEND texts "static const char text${number}[] = {\n${text}};\n")
  string(APPEND files "    {\"${kernel}\", text${number}},\n")
  math(EXPR number "${number} + 1")
endforeach()

set(filters "")
set(table "")
file(GLOB descriptions ${SOURCE}/filters/*/filter.c)
list(SORT descriptions)
foreach(description ${descriptions})
  get_filename_component(folder ${description} DIRECTORY)
  get_filename_component(name ${folder} NAME)
  string(APPEND filters "extern const struct hone_filter hone_filter_${name};\n")
  string(APPEND table "    &hone_filter_${name},\n")
endforeach()
write_if_new(${OUT}/registry_table.c "#include \"filter/registry.h\"\n\n${filters}${texts}
extern const struct kernel_file registry_files[];
extern const struct hone_filter *const registry_filters[];
const struct kernel_file registry_files[] = {\n${files}    {0}};
const struct hone_filter *const registry_filters[] = {\n${table}    0};\n")
file(TOUCH_NOCREATE ${OUT}/registry_table.c ${OUT}/selftest_source.c ${OUT}/shipped_text.c ${OUT}/seeds_text.c ${OUT}/experiments_text.c ${OUT}/rung_gains.c)
