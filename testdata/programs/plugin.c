// A plug-in that hands out blocks which its host frees, and frees its host's.
#include <stdlib.h>

void* plugin_allocate(size_t size) { return malloc(size); }
void plugin_free(void* block) { free(block); }
