"""Compiler and linker options: the mainland's, and those of the two islands.

An island is code beside somebody else's allocator: libc only, never allocating. C++20 itself is
set in .bazelrc, because it must hold for everything that is linked together.
"""

HEAPTAPE_COPTS = [
    "-Wall",
    "-Wextra",
    "-Werror",

    # GCC 12 sees overlaps in std::string that are not there (GCC bug 105651).
    "-Wno-restrict",
]

ISLAND_COPTS = HEAPTAPE_COPTS + [
    "-O2",

    # Nothing that would need libstdc++ at run time, or a guard that may lock or allocate.
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-threadsafe-statics",

    # The compiler must not merge, drop or invent calls of the functions we stand in for.
    "-fno-builtin-malloc",
    "-fno-builtin-free",
    "-fno-builtin-calloc",
    "-fno-builtin-realloc",

    # Checks that cost time on every call, and whose failure path prints.
    "-fno-stack-protector",
    "-U_FORTIFY_SOURCE",

    # Nothing is exported unless it is marked.
    "-fvisibility=hidden",

    # The dynamic models call __tls_get_addr, whose first call in a thread allocates.
    "-ftls-model=initial-exec",
]

# For the few files that read or write the fs base without a system call.
FSGSBASE_COPTS = ["-mfsgsbase"]

ISLAND_LINKOPTS = [
    # Bazel names libstdc++ and libm on every command line; islands use neither.
    "-Wl,--as-needed",

    # Symbols are bound before the first call: the lazy binder is no place to be entered from
    # malloc.
    "-Wl,-z,now",
    "-Wl,-z,relro",
]
