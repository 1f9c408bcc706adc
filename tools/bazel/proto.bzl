"""Protocol buffers through Debian's protoc; Bazel 4's proto rules would build their own."""

load("//tools/bazel:heaptape.bzl", "HEAPTAPE_COPTS")

def heaptape_cc_proto(name, srcs, visibility = None):
    """A cc_library of the messages in `srcs`, each x.proto included as "<package>/x.pb.h".

    Imports are named from the root of the tree and must lie in the same `srcs`.
    """
    stems = [src[:-len(".proto")] for src in srcs]
    hdrs = [stem + ".pb.h" for stem in stems]
    cc = [stem + ".pb.cc" for stem in stems]

    native.genrule(
        name = name + "_generated",
        srcs = srcs,
        outs = cc + hdrs,
        cmd = "/usr/bin/protoc --cpp_out=$(GENDIR) $(SRCS)",
        visibility = ["//visibility:private"],
    )

    native.cc_library(
        name = name,
        srcs = cc,
        hdrs = hdrs,
        copts = HEAPTAPE_COPTS,
        visibility = visibility,
        deps = ["@com_google_protobuf//:protobuf"],
    )
