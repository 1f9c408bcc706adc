#include "analysis/python_note.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace heaptape {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

Header Recorded(const std::string& executable, const std::vector<std::string>& objects = {},
                const std::vector<std::string>& environment = {}) {
  Header header;
  header.set_executable(executable);
  for (const std::string& path : objects) header.add_objects()->set_path(path);
  for (const std::string& variable : environment) header.add_environment(variable);
  return header;
}

TEST(PythonNote, PythonByWhateverPartOfIt) {
  EXPECT_THAT(PythonNote(Recorded("/usr/bin/python3.11")), HasSubstr("arenas of 1 MiB"));
  EXPECT_THAT(PythonNote(Recorded("/usr/bin/python3.9")), HasSubstr("arenas of 256 KiB"));
  EXPECT_THAT(PythonNote(Recorded("/usr/bin/python3.6m")), HasSubstr("arenas of 256 KiB"));
  EXPECT_THAT(PythonNote(Recorded("/usr/bin/python3")), HasSubstr("arenas that"));
  EXPECT_THAT(PythonNote(Recorded("/usr/bin/uwsgi", {"/lib/libc.so.6", "/usr/lib/libpython3.12.so.1.0"})),
              HasSubstr("PYTHONMALLOC=malloc"));
}

TEST(PythonNote, OthersAreNone) {
  EXPECT_THAT(PythonNote(Recorded("/usr/bin/app", {"/usr/lib/python3.11/lib-dynload/_json.so"})), IsEmpty());
  EXPECT_THAT(PythonNote(Recorded("/usr/bin/pypy3", {"/usr/lib/libpypy3-c.so"})), IsEmpty());
  EXPECT_THAT(PythonNote(Recorded("/usr/bin/python3-config")), IsEmpty());
  EXPECT_THAT(PythonNote(Recorded("/usr/bin/python3.11-config")), IsEmpty());
  EXPECT_THAT(PythonNote(Recorded("/usr/bin/python2.7")), IsEmpty());
  EXPECT_THAT(PythonNote(Recorded("")), IsEmpty());
}

TEST(PythonNote, NothingIsMissingWhereMallocServesAll) {
  EXPECT_THAT(PythonNote(Recorded("/usr/bin/python3.11", {}, {"PYTHONMALLOC=malloc"})), IsEmpty());
  EXPECT_THAT(PythonNote(Recorded("/usr/bin/python3.11", {}, {"PYTHONMALLOC=malloc_debug"})), IsEmpty());
  EXPECT_THAT(PythonNote(Recorded("/usr/bin/python3.11", {}, {"PYTHONMALLOC=debug"})), HasSubstr("512 bytes"));
}

}  // namespace
}  // namespace heaptape
