#!/usr/bin/env python3
"""What a run costs without a cache, with an empty one, with everything kept, and after one change. Python 3 and
nothing else.

    benches/again.py [-n TURNS] target/release/straggler DIR [PATH...]

`straggler check PATH...` in DIR (`.` without a path), with a cache of its own: without it, with an empty one, again,
and then after a line was added to one file: the Go file among those analysed whose name comes last, which is put back
afterwards. As a hook of pre-commit runs it, for 20 files:

    benches/again.py target/release/straggler DIR $(cd DIR && ls tools/cache/*.go | head -20)

Printed are the medians of the turns (5 without -n), and in brackets the least: time on the clock, and processor time of
all threads.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time


def run(command, cwd):
    started = time.monotonic()
    process = subprocess.Popen(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    told = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    clock = time.monotonic() - started
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        sys.exit(f"{command} failed")
    return clock, usage.ru_utime + usage.ru_stime, told


def last_go_file(root, paths):
    named = [os.path.join(root, path) for path in paths]
    below = [
        os.path.join(directory, name)
        for path in named if os.path.isdir(path)
        for directory, _, names in os.walk(path) if "/vendor" not in directory and "/testdata" not in directory
        for name in names if name.endswith(".go") and not name.endswith("_test.go")
    ]
    return max(below + [path for path in named if os.path.isfile(path)])


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("-n", type=int, default=5, dest="turns")
    parser.add_argument("straggler", type=os.path.abspath)
    parser.add_argument("root", type=os.path.abspath)
    parser.add_argument("paths", nargs="*")
    asked = parser.parse_args()
    paths = asked.paths or ["."]
    changed = last_go_file(asked.root, paths)
    with open(changed, "rb") as file:
        text = file.read()
    taken = {}
    tolds = set()
    with tempfile.TemporaryDirectory() as cache:
        command = [asked.straggler, "check", "--no-config", "--no-baseline", "--format", "concise"]

        def measure(name, *where):
            *figures, told = run([*command, *where, *paths], asked.root)
            taken.setdefault(name, []).append(figures)
            tolds.add(told)

        for turn in range(asked.turns):
            measure("without a cache", "--no-cache")
            shutil.rmtree(cache)
            os.mkdir(cache)
            measure("nothing kept", "--cache-dir", cache)
            measure("all kept", "--cache-dir", cache)
            try:
                with open(changed, "ab") as file:
                    file.write(b"\n// %d\n" % turn)
                measure("one file changed", "--cache-dir", cache)
            finally:
                with open(changed, "wb") as file:
                    file.write(text)
    for name, figures in taken.items():
        clock, cpu = (f"{statistics.median(each):6.3f} s ({min(each):.3f})" for each in zip(*figures))
        print(f"{name:18} {clock}   {cpu} CPU")
    if len(tolds) > 1:
        sys.exit("the runs do not say the same")


main()
