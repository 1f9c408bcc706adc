#!/bin/sh
# The engine needs libc and nothing else, and exports the malloc family, so that
# whatever is loaded beside it allocates in the engine's arena and not in the heap
# under test.
set -eu
engine=$1

needed=$(readelf -d "$engine" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
for library in $needed; do
  case $library in
    libc.so.6 | ld-linux-x86-64.so.2) ;;
    *) echo "needs $library" && exit 1 ;;
  esac
done

symbols=$(readelf -W --dyn-syms "$engine")
for function in malloc calloc realloc free memalign aligned_alloc posix_memalign valloc pvalloc \
  malloc_usable_size; do
  echo "$symbols" | grep -q "FUNC .* GLOBAL .* [0-9]* $function\$" || {
    echo "does not export $function"
    exit 1
  }
done

# Neither stdio nor anything that would run before or after main.
for function in printf fopen fwrite puts abort atexit __cxa_atexit __cxa_guard_acquire \
  __stack_chk_fail __tls_get_addr; do
  if echo "$symbols" | grep -q " UND $function@"; then
    echo "calls $function"
    exit 1
  fi
done
if readelf -SW "$engine" | grep -q '\.init_array'; then
  # crt1's own frame_dummy is the one entry that is always there.
  size=$(readelf -SW "$engine" | sed -n 's/.*\.init_array *INIT_ARRAY *[0-9a-f]* [0-9a-f]* \([0-9a-f]*\).*/\1/p')
  [ "$((0x$size))" -le 8 ] || {
    echo "has constructors"
    exit 1
  }
fi
