// Versions of a text of some megabytes: each is put together by appending pieces of
// the last one, so that it grows by realloc; small records are born on the way and
// live for long. The last 40 versions are kept.
//   manifest VERSIONS
#include "testdata/experiments/program.h"

enum { kVersions = 40, kMostRecords = 100000, kYoungRecords = 2000 };

int main(int argc, char** argv) {
  static char *versions[kVersions], *records[kMostRecords];
  const int count = argc > 1 ? atoi(argv[1]) : 600;
  size_t live = 0;
  size_t length = 4 << 20;
  for (int version = 0; version < count; ++version) {
    length += Between(0, 20000);
    const size_t pieces = Between(4, 16);
    char* text = NULL;
    size_t end = 0;
    for (size_t i = 0; i < pieces; ++i) {
      const size_t bytes = length / pieces + Between(0, 1000);
      char* piece = Make(bytes);
      text = realloc(text, end += bytes);
      text[end - 1] = 1;
      free(piece);
      Chatter(10);
      if (Between(0, 2) == 0 && live < kMostRecords) records[live++] = Make(Between(33, 513));
      if (live > kYoungRecords && Between(0, 2) == 0) {
        const size_t old = Between(0, live);
        free(records[old]);
        records[old] = records[--live];
      }
    }
    free(versions[version % kVersions]);
    versions[version % kVersions] = text;
  }
  return 0;
}
