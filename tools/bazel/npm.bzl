"""Packages from the npm registry, as tools/setup.sh installs them: by `npm ci`, whose lock file
fixes version and contents, into a directory that is no part of the tree.
"""

def _npm_package_impl(ctx):
    root = ctx.path(Label("//:WORKSPACE")).dirname
    package = root
    for part in ctx.attr.path.split("/"):
        package = package.get_child(part)
    for file in ctx.attr.files:
        path = package
        for part in file.split("/"):
            path = path.get_child(part)
        if not path.exists:
            fail("\n\n  %s is not installed: run tools/setup.sh\n  (there is no %s)\n" % (ctx.attr.path, path))
        ctx.symlink(path, file)
    ctx.file("BUILD.bazel", "exports_files(%r, visibility = [\"//visibility:public\"])\n" % ctx.attr.files)

npm_package = repository_rule(
    implementation = _npm_package_impl,
    local = True,
    attrs = {
        "files": attr.string_list(mandatory = True, doc = "Those that the build reads"),
        "path": attr.string(mandatory = True, doc = "Of the package, below the workspace"),
    },
)
