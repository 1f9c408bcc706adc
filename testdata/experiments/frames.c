// A video pipeline that makes a buffer for each frame, 7680 x 4320 pixels of 2 bytes.
//   frames COUNT
#include <stdlib.h>

int main(int argc, char** argv) {
  const int count = argc > 1 ? atoi(argv[1]) : 100;
  for (int i = 0; i < count; ++i) {
    char* frame = malloc(7680 * 4320 * 2);
    frame[0] = 1;
    free(frame);
  }
  return 0;
}
