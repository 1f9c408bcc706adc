// Allocates and frees for ever, and after each call that has returned counts it
// in a file that outlives the program. usage: count_until_killed COUNTER
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (fd < 0 || ftruncate(fd, 4096) != 0) return 2;
  volatile uint64_t* counter = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  static void* blocks[1000];
  uint32_t s = 1;
  for (uint64_t calls = 0;;) {
    s = s * 1103515245 + 12345;
    void** block = &blocks[(s >> 8) % 1000];
    if (*block != NULL) {
      free(*block);
      *block = NULL;
    } else {
      *block = malloc(1 + (s >> 16) % 2000);
    }
    counter[0] = ++calls;
  }
}
