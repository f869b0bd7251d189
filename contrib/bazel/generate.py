#!/usr/bin/env python3
"""Writes BUILD files for a Go repository, so that Bazel runs straggler on each of its packages.

    generate.py ROOT STRAGGLER

ROOT holds go.mod or go.work and is to be the root of the workspace; STRAGGLER is the executable. A
repository that has rules for Go needs none of this: `straggler.bzl` goes along their `srcs`, `deps` and
`embed`. A directory with a BUILD.bazel of its own is an error, but below `vendor`, where it is that of others and
is replaced. Prints the imports of each target.
"""

import json
import os
import re
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOOL = "straggler"
DECIDING = ["go.mod", "go.work", "straggler.toml"]
IMPORT = re.compile(rb"^import\s*(\([^)]*\)|[^\n]*)", re.MULTILINE)
PATH = re.compile(rb'["`]([^"`\n]+)["`]')
COMMENT = re.compile(rb"//[^\n]*")


def directories(root):
    """The Go files and the deciding files of each directory, by its path below `root`."""
    go, deciding = {}, []
    for directory, below, names in os.walk(root):
        below[:] = sorted(name for name in below if name[0] not in "._" and name != "node_modules")
        path = os.path.relpath(directory, root).replace(os.sep, "/")
        path = "" if path == "." else path
        if path == TOOL:
            below[:] = []
            continue
        files = sorted(name for name in names if name.endswith(".go") and name[0] not in "._")
        if files:
            go[path] = files
        deciding += [join(path, name) for name in DECIDING if name in names]
        if os.path.basename(path) == "vendor" and "modules.txt" in names:
            deciding.append(join(path, "modules.txt"))
    return go, deciding


def join(directory, name):
    return f"{directory}/{name}" if directory else name


def imports(path):
    """The import paths of a Go file."""
    with open(path, "rb") as file:
        text = COMMENT.sub(b"", file.read())
    return {found.decode() for clause in IMPORT.findall(text) for found in PATH.findall(clause)}


class Repository:
    def __init__(self, root):
        self.root = root
        self.go, self.deciding = directories(root)
        self.modules = {}
        for path in self.deciding:
            if os.path.basename(path) == "go.mod":
                with open(os.path.join(root, path), encoding="utf-8") as file:
                    module = re.search(r'^module\s+"?([^\s"]+)', file.read(), re.MULTILINE)
                if module:
                    self.modules[module.group(1)] = os.path.dirname(path)
        self.vendors = [os.path.dirname(path) for path in self.deciding if path.endswith("/modules.txt")]

    def denoted(self, path):
        """The directories here that an import path may denote: which of them it does is for the
        modules to say, and what is given beside that does no harm."""
        places = [join(vendor, path) for vendor in self.vendors]
        for module, directory in self.modules.items():
            if path == module or path.startswith(module + "/"):
                places.append(join(directory, path[len(module) + 1 :]).rstrip("/"))
        return {place for place in places if place in self.go}

    def imported(self, directory, files):
        """The directories that files of a directory import."""
        paths = {path for name in files for path in imports(os.path.join(self.root, directory, name))}
        return sorted({place for path in paths for place in self.denoted(path)} - {directory})

    def targets(self):
        """The sources and the imported directories of each target: those of packages and those of tests.
        Of what `./...` walks past, only what is imported."""
        packages, tests = {}, {}
        for directory, files in self.go.items():
            library = [name for name in files if not name.endswith("_test.go")]
            test = [name for name in files if name.endswith("_test.go")]
            if library:
                packages[directory] = (library, self.imported(directory, library))
            if test and not is_past(directory):
                tests[directory] = (test, self.imported(directory, test))
        wanted = [path for path in packages if not is_past(path)]
        wanted += [path for _, imported in tests.values() for path in imported]
        met = set()
        while wanted:
            path = wanted.pop()
            if path in packages and path not in met:
                met.add(path)
                wanted += packages[path][1]
        return {path: packages[path] for path in sorted(met)}, tests


def is_past(directory):
    return any(name in ("vendor", "testdata") for name in directory.split("/"))


def label(directory):
    return f"//{directory}:facts_of"


def rule(kind, name, **lists):
    lines = [f"{kind}(", f"    name = {json.dumps(name)},"]
    for key, values in lists.items():
        if values:
            lines += [f"    {key} = [", *(f"        {json.dumps(value)}," for value in values), "    ],"]
    return "\n".join([*lines, '    visibility = ["//visibility:public"],', ")", ""])


def write(path, text, mode="x"):
    with open(path, mode, encoding="utf-8") as file:
        file.write(text)


def main(root, executable):
    repository = Repository(root)
    packages, tests = repository.targets()
    loads = f'load("//{TOOL}:straggler.bzl", "go_sources", "straggler_check")\n'
    builds = {directory: [] for directory in {*packages, *tests, ""}}
    for directory, (files, imported) in packages.items():
        deps = [label(path) for path in imported if path in packages]
        builds[directory].append(rule("go_sources", "facts_of", srcs=files, deps=deps))
    for directory, (files, imported) in tests.items():
        deps = [label(path) for path in imported if path in packages]
        embed = [":facts_of"] if directory in packages else []
        builds[directory].append(rule("go_sources", "facts_of_tests", srcs=files, deps=deps, embed=embed))
    everything = [label(path) for path in packages if not is_past(path)]
    everything += [label(path) + "_tests" for path in sorted(tests)]
    builds[""].append(rule("straggler_check", "straggler", deps=everything))
    exported = {}
    for path in repository.deciding:
        holder = os.path.dirname(path)
        while holder not in builds:
            holder = os.path.dirname(holder)
        exported.setdefault(holder, []).append(path[len(holder) :].lstrip("/"))
    for directory, rules in builds.items():
        names = exported.get(directory, [])
        exports = [f"exports_files({json.dumps(names)})\n"] if names else []
        text = "\n".join([loads, *exports, *rules])
        write(os.path.join(root, directory, "BUILD.bazel"), text, "w" if is_past(directory) else "x")
    tool = os.path.join(root, TOOL)
    os.mkdir(tool)
    shutil.copy(os.path.join(HERE, "straggler.bzl"), tool)
    os.symlink(os.path.abspath(executable), os.path.join(tool, "straggler"))
    deciding = [f"//{holder}:{name}" for holder in sorted(exported) for name in exported[holder]]
    text = rule("filegroup", "deciding", srcs=deciding)
    write(os.path.join(tool, "BUILD.bazel"), f'exports_files(["straggler"])\n\n{text}')
    if not any(os.path.exists(os.path.join(root, name)) for name in ("WORKSPACE", "MODULE.bazel")):
        write(os.path.join(root, "WORKSPACE"), "")
    edges = {label(path): [label(to) for to in imported] for path, (_, imported) in packages.items()}
    for path, (_, imported) in tests.items():
        own = [label(path)] if path in packages else []
        edges[label(path) + "_tests"] = own + [label(to) for to in imported]
    json.dump(edges, sys.stdout, indent=1)


if __name__ == "__main__":
    main(*sys.argv[1:])
