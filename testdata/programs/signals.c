// A fast timer whose handler allocates interrupts a loop that allocates, at any
// instruction; run over an allocator that survives this (bump_malloc). Counts
// the calls that returned in the file COUNTER.
// usage: signals COUNTER [jump]: with jump, the handler jumps out now and then.
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

static sigjmp_buf outside;
static volatile uint64_t* counter;
static int jump;
static volatile sig_atomic_t interruptions;

// One instruction, so that no interruption loses a count.
static void count(void) { __asm__ volatile("incq %0" : "+m"(*counter)); }

static void handler(int signal_number) {
  (void)signal_number;
  for (int i = 0; i < 3; ++i) {
    void* block = malloc(24);
    count();
    free(block);
    count();
  }
  if (++interruptions % 8 == 0 && jump) siglongjmp(outside, 1);
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  jump = argc > 2;
  const int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (fd < 0 || ftruncate(fd, 4096) != 0) return 2;
  counter = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  struct sigaction action = {.sa_handler = handler};
  sigaction(SIGALRM, &action, NULL);
  const struct itimerval often = {{0, 150}, {0, 150}}, never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &often, NULL);
  sigsetjmp(outside, 1);
  while (interruptions < 4000) {
    void* block = malloc(100);
    count();
    block = realloc(block, 300000);
    count();
    free(block);
    count();
  }
  setitimer(ITIMER_REAL, &never, NULL);
  return 0;
}
