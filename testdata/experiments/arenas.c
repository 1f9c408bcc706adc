// One symptom, a process that holds many times what it uses, of two causes.
//   arenas objects    requests of many small objects, one after another, each on the
//                     next thread of a pool
//   arenas buffers    large buffers, on the main thread
//   arenas pool       the same buffers on the pool
// and behind it the number of requests.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "testdata/experiments/program.h"

enum { kThreads = 7, kObjects = 20000, kBuffers = 12, kMostRequests = 10000 };

static char* kept[kMostRequests];
static int request;
static int uses_buffers;

// What a request leaves behind is small, and lies wherever there was room.
static void Serve(void) {
  static char* blocks[kObjects];
  const int count = uses_buffers ? kBuffers : kObjects;
  for (int i = 0; i < count; ++i) {
    blocks[i] = Make(uses_buffers ? Between(200000, 6000000) : Between(100, 2000));
    if (i == count / 2) kept[request] = Make(200);
  }
  for (int i = 0; i < count; ++i) free(blocks[i]);
  ++request;
}

// The pool's threads take turns.
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int turn = -1;  // whose request it is; -1: none yet
static int requests;

static void* ThreadMain(void* number) {
  pthread_mutex_lock(&mutex);
  while (request < requests) {
    if (turn == (int)(size_t)number) {
      Serve();
      turn = (turn + 1) % kThreads;
      pthread_cond_broadcast(&changed);
    } else {
      pthread_cond_wait(&changed, &mutex);
    }
  }
  pthread_mutex_unlock(&mutex);
  return NULL;
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "objects";
  requests = argc > 2 ? atoi(argv[2]) : 70;
  uses_buffers = strcmp(what, "objects") != 0;
  if (strcmp(what, "buffers") == 0) {
    while (request < requests) Serve();
    return 0;
  }
  pthread_t threads[kThreads];
  for (size_t i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, ThreadMain, (void*)i);
  pthread_mutex_lock(&mutex);
  turn = 0;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  return 0;
}
