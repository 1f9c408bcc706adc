// What programs do that recorders have broken on. Each exits with 0 if all went
// as it does without a recorder, or with the number of the line that saw
// something else. usage: surroundings NAME
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static void fail(int line) { _exit(line % 256 == 0 ? 255 : line % 256); }
#define CHECK(condition) \
  if (!(condition)) fail(__LINE__)

static void churn(int calls) {
  static __thread void* blocks[64];
  for (int i = 0; i < calls; ++i) {
    void** block = &blocks[i * 7 % 64];
    free(*block);
    *block = malloc((size_t)(1 + i % 3000));
  }
  for (int i = 0; i < 64; ++i) {
    free(blocks[i]);
    blocks[i] = NULL;
  }
}

// A daemon closes everything it did not open, and reuses the numbers.
static void closed_descriptors(void) {
  churn(1000);
  closefrom(0);
  const int fd = open("data.txt", O_RDWR | O_CREAT | O_TRUNC, 0600);
  CHECK(fd == 0);
  CHECK(write(fd, "mine\n", 5) == 5);
  for (int i = 1; i < 20; ++i) CHECK(dup(fd) == i);
  churn(200000);
  struct stat info;
  CHECK(fstat(fd, &info) == 0 && info.st_size == 5);
}

// Only read, write, _exit and sigreturn from here on; all else kills.
static void strict_seccomp(void) {
  mallopt(M_TRIM_THRESHOLD, 64 << 20);  // the heap need neither grow nor shrink
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  free(malloc(4 << 20));
  churn(1000);
  CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
  churn(3000);
  syscall(SYS_exit, 0);
}

static void* small_stack_thread(void* unused) {
  (void)unused;
  churn(100000);
  return NULL;
}
static void small_stack(void) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  CHECK(pthread_attr_setstacksize(&attributes, 16384) == 0);
  for (int i = 0; i < 20; ++i) {
    pthread_t thread;
    CHECK(pthread_create(&thread, &attributes, small_stack_thread, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
  }
}

static volatile int handled;
static void allocating_handler(int signal_number) {
  (void)signal_number;
  free(malloc(100));
  ++handled;
}
static void alternate_stack(void) {
  // The least that the kernel's own frame and one call need.
  const size_t size = (size_t)sysconf(_SC_MINSIGSTKSZ) + 2048;
  stack_t stack = {.ss_sp = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), .ss_size = size};
  CHECK(sigaltstack(&stack, NULL) == 0);
  struct sigaction action = {.sa_handler = allocating_handler, .sa_flags = SA_ONSTACK};
  sigaction(SIGUSR1, &action, NULL);
  for (int i = 0; i < 20000; ++i) raise(SIGUSR1);
  CHECK(handled == 20000);
}

static ucontext_t main_context, coroutine_context;
static void coroutine(void) {
  for (;;) {
    churn(20);
    swapcontext(&coroutine_context, &main_context);
  }
}
static void coroutines(void) {
  static char stack[8192];
  getcontext(&coroutine_context);
  coroutine_context.uc_stack.ss_sp = stack;
  coroutine_context.uc_stack.ss_size = sizeof stack;
  makecontext(&coroutine_context, coroutine, 0);
  for (int i = 0; i < 5000; ++i) {
    swapcontext(&main_context, &coroutine_context);
    free(malloc(64));
  }
}

// A library in a namespace of its own has a malloc of its own.
static void other_namespace(void) {
  void* library = dlmopen(LM_ID_NEWLM, "libc.so.6", RTLD_NOW);
  CHECK(library != NULL);
  void* (*their_malloc)(size_t) = (void* (*)(size_t))dlsym(library, "malloc");
  void (*their_free)(void*) = (void (*)(void*))dlsym(library, "free");
  for (int i = 0; i < 50; ++i) their_free(their_malloc(100));
  churn(1000);
}

// A library opened so that it finds libc's malloc before anybody else's. The
// heap is the same, so blocks may cross over; only half of the calls are seen.
static void deep_binding(void) {
  char path[4096];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);
  CHECK(size > 0);
  path[size] = '\0';
  strcpy(strrchr(path, '/') + 1, "libplugin.so");
  void* library = dlopen(path, RTLD_NOW | RTLD_DEEPBIND);
  CHECK(library != NULL);
  void* (*plugin_allocate)(size_t) = (void* (*)(size_t))dlsym(library, "plugin_allocate");
  void (*plugin_free)(void*) = (void (*)(void*))dlsym(library, "plugin_free");
  for (int i = 0; i < 50; ++i) {
    free(plugin_allocate(100));
    plugin_free(malloc(200));
  }
}

static void errno_is_kept(void) {
  for (int i = 0; i < 50000; ++i) {
    errno = 42;
    void* a = malloc(10);
    void* b = calloc(2, 10);
    a = realloc(a, 500);
    free(a);
    free(b);
    CHECK(errno == 42);
  }
}

// Writing as far as a block really goes is allowed.
static void greedy(void) {
  for (int i = 1; i < 3000; ++i) {
    char* block = malloc((size_t)i);
    memset(block, 1, malloc_usable_size(block));
    block = realloc(block, malloc_usable_size(block) + 1);
    memset(block, 2, malloc_usable_size(block));
    free(block);
  }
}

static void abort_in_the_middle(void) {
  churn(10000);
  abort();
}
static void exit_at_once(void) {
  churn(10000);
  _exit(0);
}

// The root is another one by the time that more room is needed.
static void changed_root(void) {
  churn(100);
  CHECK(mkdir("empty", 0700) == 0 || errno == EEXIST);
  CHECK(chroot("empty") == 0 && chdir("/") == 0);
  churn(400000);
}

static void forks_past_libc(void) {
  for (int i = 0; i < 50; ++i) {
    const pid_t pid = (pid_t)syscall(SYS_fork);
    if (pid == 0) {
      churn(2000);
      _exit(5);
    }
    int status;
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 5);
  }
  churn(2000);
}

static void daemon_child(void) {
  CHECK(daemon(1, 0) == 0);
  churn(100000);
}

int main(int argc, char** argv) {
  const struct {
    const char* name;
    void (*run)(void);
  } all[] = {
      {"closed_descriptors", closed_descriptors}, {"strict_seccomp", strict_seccomp},
      {"small_stack", small_stack},               {"alternate_stack", alternate_stack},
      {"coroutines", coroutines},                 {"other_namespace", other_namespace},
      {"errno_is_kept", errno_is_kept},           {"greedy", greedy},
      {"abort", abort_in_the_middle},             {"exit_at_once", exit_at_once},
      {"changed_root", changed_root},             {"forks_past_libc", forks_past_libc},
      {"daemon", daemon_child},                   {"deep_binding", deep_binding},
  };
  for (size_t i = 0; argc == 2 && i < sizeof all / sizeof *all; ++i) {
    if (strcmp(argv[1], all[i].name) == 0) {
      all[i].run();
      return 0;
    }
  }
  return 2;
}
