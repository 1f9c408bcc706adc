// A server that switches models. A model is loaded weight by weight, each read into a
// buffer of its own and converted from there; most bytes are in few weights. It serves
// some requests, whose activations come and go, and of which a few cache entries stay
// for ever. Then all of the model goes. Models differ in size.
//   models CYCLES MEGABYTES
//
// Between unloading and the next load it idles, for 1000 blocks of 7 bytes that come and
// go. That is how an idle phase is found in the trace.
#include "testdata/experiments/program.h"

enum { kMostWeights = 100000, kRequests = 10, kIdle = 1000 };

static char* weights[kMostWeights];

int main(int argc, char** argv) {
  const int cycles = argc > 1 ? atoi(argv[1]) : 12;
  const size_t megabytes = argc > 2 ? (size_t)atoi(argv[2]) : 200;
  for (int cycle = 0; cycle < cycles; ++cycle) {
    const size_t model = megabytes * 1000000 * Between(60, 100) / 100;
    int count = 0;
    for (size_t bytes = 0; bytes < model && count < kMostWeights; ++count) {
      size_t weight = (size_t)16000 << Between(0, 11);
      weight += Between(0, weight / 2);
      char* read = Make(2 * weight);
      weights[count] = Make(weight);
      free(read);
      bytes += weight;
      Chatter(50);
    }
    for (int i = 0; i < kRequests; ++i) {
      char* activations[8];
      for (int j = 0; j < 8; ++j) activations[j] = Make(Between(100000, 8000000));
      Make(Between(2000, 20000));
      Chatter(200);
      for (int j = 0; j < 8; ++j) free(activations[j]);
    }
    for (int i = 0; i < count; ++i) free(weights[i]);
    for (int i = 0; i < kIdle; ++i) free(Make(7));
  }
  return 0;
}
