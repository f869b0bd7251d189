#!/usr/bin/env python3
"""What a run costs with nothing kept, with everything kept, and after one change. Python 3 and nothing else.

    benches/again.py target/release/straggler DIR [PATH...]

`straggler check PATH...` in DIR (`.` without a path), with a cache of its own: first with an empty
one, then again, then after a line was added to one file: the Go file among those analysed whose name
comes last, which is put back afterwards. Printed are processor time (of all threads) and time on
the clock, each the least of three runs.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time


def run(command, cwd):
    started = time.monotonic()
    process = subprocess.Popen(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    told = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        sys.exit(f"{command} failed")
    return usage.ru_utime + usage.ru_stime, time.monotonic() - started, told


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
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    straggler, root = map(os.path.abspath, sys.argv[1:3])
    paths = sys.argv[3:] or ["."]
    changed = last_go_file(root, paths)
    with open(changed, "rb") as file:
        text = file.read()
    best = {}
    tolds = set()
    with tempfile.TemporaryDirectory() as cache:
        command = [straggler, "check", "--no-config", "--format", "concise", "--cache-dir", cache, *paths]

        def measure(name):
            cpu, clock, told = run(command, root)
            old = best.get(name, (cpu, clock))
            best[name] = (min(cpu, old[0]), min(clock, old[1]))
            tolds.add(told)

        for turn in range(3):
            shutil.rmtree(cache)
            os.mkdir(cache)
            measure("nothing kept")
            measure("all kept")
            try:
                with open(changed, "ab") as file:
                    file.write(b"\n// %d\n" % turn)
                measure("one file changed")
            finally:
                with open(changed, "wb") as file:
                    file.write(text)
    for name, (cpu, clock) in best.items():
        print(f"{name:18} {cpu:8.2f} s CPU  {clock:8.2f} s")
    if len(tolds) > 1:
        sys.exit("the runs do not say the same")


main()
