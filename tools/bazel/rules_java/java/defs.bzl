"""The part of rules_java that Bazel's own BUILD files load, as the rules built into Bazel 4.

Bazel looks at its Java toolchains even for C++, and would download rules_java to do so.
"""

java_import = native.java_import
java_runtime = native.java_runtime
java_toolchain = native.java_toolchain
