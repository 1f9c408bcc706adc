// A tile cache: 20 tiles of 1 to 5 MB, of which one is replaced by a new one in each
// round. Of each tile a few small records stay for ever: its key, its place in an index.
//   tiles ROUNDS [TRIM]
// TRIM: call malloc_trim each so many rounds.
#include <malloc.h>

#include "testdata/experiments/program.h"

enum { kTiles = 20, kRecords = 3 };

int main(int argc, char** argv) {
  static char* tiles[kTiles];
  const int rounds = argc > 1 ? atoi(argv[1]) : 1000;
  const int trim = argc > 2 ? atoi(argv[2]) : 0;
  for (int round = 0; round < rounds; ++round) {
    const size_t slot = round < kTiles ? (size_t)round : Between(0, kTiles);
    free(tiles[slot]);
    tiles[slot] = Make(Between(1000000, 5000000));
    for (int i = 0; i < kRecords; ++i) Make(Between(40, 400));
    Chatter(50);
    if (trim > 0 && round % trim == trim - 1) malloc_trim(0);
  }
  return 0;
}
