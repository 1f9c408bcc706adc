// A program that changes what malloc goes by, or does not, as its argument says, and
// then waits until its standard input ends.
//   settings plain | setenv | mallopt | move | worker | child COMMAND...
// worker: a forked child calls mallopt, and ends; child: one runs the command.

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void Wait(void) {
  char byte;
  if (write(1, "ready\n", 6) != 6) exit(1);
  while (read(0, &byte, 1) > 0) {
  }
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "plain";
  // A few blocks of the program's own, as any program has them.
  for (int i = 0; i < 10; ++i) free(malloc(100));
  if (strcmp(what, "setenv") == 0) setenv("GLIBC_TUNABLES", "glibc.malloc.mmap_threshold=65536", 1);
  if (strcmp(what, "mallopt") == 0) mallopt(M_MMAP_THRESHOLD, 1 << 20);
  if (strcmp(what, "move") == 0) free(malloc(20 << 20));
  if (strcmp(what, "worker") == 0) {
    if (fork() == 0) {
      mallopt(M_MMAP_THRESHOLD, 1 << 20);
      _exit(0);
    }
    wait(NULL);
  }
  if (strcmp(what, "child") == 0) {
    if (fork() == 0) {
      execvp(argv[2], argv + 2);
      _exit(127);
    }
    wait(NULL);
    return 0;
  }
  Wait();
  return 0;
}
