// Every way to have a child, and a check that each came through.
// usage: children [again]
#define _GNU_SOURCE
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

static int work(int n) {
  void* blocks[100] = {NULL};
  for (int i = 0; i < n; ++i) {
    if (i >= 100) free(blocks[i % 100]);
    blocks[i % 100] = malloc(10 + i);
  }
  for (int i = 0; i < 100; ++i) free(blocks[i]);
  return 5;
}

static int status_of(pid_t pid) {
  int status;
  return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static volatile int stop;
static void* busy(void* unused) {
  (void)unused;
  while (!stop) free(malloc(100));
  return NULL;
}

int main(int argc, char** argv) {
  (void)argc;
  if (argc > 1) return work(50) == 5 ? 3 : 1;

  pthread_t thread;
  pthread_create(&thread, NULL, busy, NULL);
  for (int i = 0; i < 200; ++i) {
    const pid_t pid = fork();
    if (pid == 0) _exit(work(2000));
    if (status_of(pid) != 5) return 10;
  }
  stop = 1;
  pthread_join(thread, NULL);

  char* again[] = {argv[0], "again", NULL};
  pid_t pid = vfork();
  if (pid == 0) {
    execv(argv[0], again);
    _exit(1);
  }
  if (status_of(pid) != 3) return 11;
  if (posix_spawn(&pid, argv[0], NULL, NULL, again, environ) != 0 || status_of(pid) != 3) return 12;
  if (WEXITSTATUS(system("exit 9")) != 9) return 13;
  FILE* pipe = popen("echo hello", "r");
  char line[16] = "";
  if (fgets(line, sizeof line, pipe) == NULL || strcmp(line, "hello\n") != 0) return 14;
  if (pclose(pipe) != 0) return 15;
  execv(argv[0], again);
  return 16;
}
