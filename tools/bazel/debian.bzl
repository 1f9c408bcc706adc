"""The libraries we take from Debian's -dev packages, one repository each.

Their headers lie on the compiler's own search path and their libraries on the linker's, so a
target is only a name for linker flags and needs no files. Bazel therefore does not notice an
upgrade of a package: run `bazel clean` after one.
"""

_LIBRARIES = [
    "absl",
    "cli11",
    "com_google_benchmark",
    "com_google_googletest",
    "com_google_protobuf",
    "libarchive",
    "nlohmann_json",
    "zstd",
]

def debian_repositories():
    for name in _LIBRARIES:
        native.new_local_repository(
            name = name,
            build_file = "//tools/bazel:debian/%s.BUILD" % name,
            path = "tools/bazel/debian",
        )
