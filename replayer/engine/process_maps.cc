#include "replayer/engine/process_maps.h"

#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>

#include "replayer/engine/own_pages.h"
#include "replayer/engine/raw_syscall.h"

namespace heaptape {

namespace {

const char* ParseHex(const char* text, const char* end, uint64_t* value) {
  *value = 0;
  for (; text < end; ++text) {
    if (*text >= '0' && *text <= '9') {
      *value = *value * 16 + (*text - '0');
    } else if (*text >= 'a' && *text <= 'f') {
      *value = *value * 16 + (*text - 'a' + 10);
    } else {
      break;
    }
  }
  return text;
}

const char* SkipField(const char* text, const char* end) {
  while (text < end && *text != ' ') ++text;
  while (text < end && *text == ' ') ++text;
  return text;
}

}  // namespace

bool ParseMapsLine(const char* text, const char* end, MapsLine* line) {
  text = ParseHex(text, end, &line->lo);
  if (text == end || *text++ != '-') return false;
  text = ParseHex(text, end, &line->hi);
  if (end - text < 5 || *text++ != ' ') return false;
  line->read_write_private = text[0] == 'r' && text[1] == 'w' && text[3] == 'p';
  const char* name = text;
  for (int field = 0; field < 4; ++field) name = SkipField(name, end);  // to behind the inode
  line->heap = end - name == 6 && memcmp(name, "[heap]", 6) == 0;
  line->anonymous = name == end || line->heap;
  return true;
}

bool VisitAnonymousMaps(uint64_t fs_base, void (*visit)(uint64_t lo, uint64_t hi, void* context),
                        void* context) {
  static char buffer[16 << 10];
  const long fd = RawSyscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return false;
  size_t filled = 0;
  uint64_t file_end = 0;  // of the file mapping just before
  for (;;) {
    const long got = RawSyscall(SYS_read, fd, buffer + filled, sizeof(buffer) - filled);
    if (got <= 0) break;
    filled += got;
    char* line = buffer;
    for (char* end; (end = (char*)memchr(line, '\n', buffer + filled - line)) != nullptr;
         line = end + 1) {
      MapsLine map;
      if (!ParseMapsLine(line, end, &map)) continue;
      const bool bss = map.lo == file_end;
      if (!map.anonymous) file_end = map.hi;
      if (!map.anonymous || !map.read_write_private || bss || IsOwn(map.lo)) continue;
      if (fs_base >= map.lo && fs_base < map.hi) continue;
      visit(map.lo, map.hi, context);
    }
    filled = buffer + filled - line;
    memmove(buffer, line, filled);
  }
  RawSyscall(SYS_close, fd);
  return true;
}

}  // namespace heaptape
