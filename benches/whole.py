#!/usr/bin/env python3
"""What a whole run costs beside tree-sitter alone on the same files. Needs Python 3 and nothing else.

    cargo bench --bench yardstick --no-run
    benches/whole.py target/release/straggler target/release/deps/yardstick-* DIR [PATH...]

The run is `straggler check PATH...` in DIR (`.` without a path). The yardstick parses the Go files
below the same paths that a run takes: none of `vendor` unless it is named, none of `testdata`. Files
of other modules that the run opens for their declarations are not among them. Printed are the time
on the clock, the processor time (of all threads) and the largest size in memory, with the ratios of
the processor times; each is the least of three runs in turns.
"""

import os
import subprocess
import sys
import time


def go_files(root, paths):
    named = {os.path.normpath(os.path.join(root, path.removesuffix("/..."))) for path in paths}
    for start in sorted(named):
        for directory, below, files in os.walk(start):
            below[:] = sorted(
                name for name in below
                if name != "testdata" and name[0] not in "._"
                and (name != "vendor" and os.path.join(directory, name) not in named)
            )
            for name in sorted(files):
                if name.endswith(".go") and name[0] not in "._":
                    yield os.path.join(directory, name)


def measure(command, cwd, stdin):
    started = time.monotonic()
    process = subprocess.Popen(
        command, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    process.stdin.write(stdin)
    process.stdin.close()
    told = process.stderr.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        sys.exit(told)
    cpu = usage.ru_utime + usage.ru_stime
    return cpu, time.monotonic() - started, usage.ru_maxrss * 1024, told


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    straggler, yardstick, root = map(os.path.abspath, sys.argv[1:4])
    paths = sys.argv[4:] or ["."]
    files = list(go_files(root, paths))
    bytes_ = sum(os.path.getsize(path) for path in files)
    listed = "\n".join(files).encode()
    commands = {
        "tree-sitter alone": ([yardstick], listed),
        "straggler check": ([straggler, "check", "--no-config", "--no-cache", *paths], b""),
    }
    best = {}
    for _ in range(3):
        for name, (command, stdin) in commands.items():
            *figures, told = measure(command, root, stdin)
            best[name] = [min(pair) for pair in zip(figures, best.get(name, figures))]
    if told:
        print(told.strip().splitlines()[-1])
    print(f"{len(files)} files, {bytes_ / 1e6:.1f} MB")
    yard = best["tree-sitter alone"][0]
    for name, (cpu, wall, size) in best.items():
        print(f"{name:18} {cpu:8.2f} s CPU  {wall:8.2f} s  {size / 1e6:6.0f} MB  ratio {cpu / yard:.2f}")


main()
