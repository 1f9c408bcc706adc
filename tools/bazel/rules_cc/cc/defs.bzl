"""The part of rules_cc that Bazel's own BUILD files load, as the rules built into Bazel 4.

Bazel would download rules_cc; Debian's is too new for Bazel 4.
"""

cc_binary = native.cc_binary
cc_library = native.cc_library
cc_test = native.cc_test
cc_toolchain = native.cc_toolchain
cc_toolchain_suite = native.cc_toolchain_suite
objc_library = native.objc_library
