#!/usr/bin/env python3
"""What the language server costs, as an editor feels it. Needs Python 3 and nothing else.

    benches/lsp.py target/release/straggler path/to/client-go tools/cache/reflector_test.go

The module is the second argument, the file that is typed into the third. Printed are the time on the
clock and, in brackets, the processor time of the server: on a busy machine only the latter says much.
"""

import json
import os
import subprocess
import sys
import time


class Server:
    def __init__(self, binary, root, pull):
        self.process = subprocess.Popen(
            [binary, "lsp"], cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.id = 0
        text = {"diagnostic": {}} if pull else {}
        self.request("initialize", {
            "processId": os.getpid(), "rootUri": None, "capabilities": {"textDocument": text},
            "workspaceFolders": [{"uri": "file://" + root, "name": "m"}],
        })
        self.notify("initialized", {})

    def send(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def notify(self, method, params):
        self.send({"method": method, "params": params})

    def receive(self):
        length = int(self.process.stdout.readline().split(b":")[1])
        self.process.stdout.readline()
        return json.loads(self.process.stdout.read(length))

    def request(self, method, params):
        self.id += 1
        self.send({"id": self.id, "method": method, "params": params})
        while True:
            message = self.receive()
            if message.get("id") == self.id and "method" not in message:
                return message.get("result")

    def published(self, version):
        while True:
            params = self.receive().get("params", {})
            if params.get("version") == version:
                return params["diagnostics"]

    def stat(self):
        """Processor seconds and resident bytes."""
        with open(f"/proc/{self.process.pid}/stat") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        ticks = os.sysconf("SC_CLK_TCK")
        return (int(fields[11]) + int(fields[12])) / ticks, int(fields[21]) * os.sysconf("SC_PAGE_SIZE")

    def close(self):
        self.request("shutdown", None)
        self.notify("exit", None)
        self.process.wait()


def main():
    binary, root, file = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3]
    edits = int(sys.argv[4]) if len(sys.argv) > 4 else 10_000
    path = os.path.join(root, file)
    uri = "file://" + path
    text = open(path).read()
    lines = text.split("\n")
    # Typing goes into the middle of a function.
    line = next(i for i in range(len(lines) // 2, len(lines)) if lines[i].startswith("\treturn")
                or lines[i].startswith("\t") and lines[i].endswith("{"))
    print(f"{file}: {len(lines)} lines, typing at line {line + 1}")

    def open_in(server):
        server.notify("textDocument/didOpen", {"textDocument": {
            "uri": uri, "languageId": "go", "version": 1, "text": text}})

    def change(server, version, insert):
        start = {"line": line, "character": 0}
        end = start if insert else {"line": line, "character": 1}
        server.notify("textDocument/didChange", {
            "textDocument": {"uri": uri, "version": version},
            "contentChanges": [{"range": {"start": start, "end": end}, "text": " " if insert else ""}]})

    start = time.monotonic()
    server = Server(binary, root, pull=False)
    open_in(server)
    found = len(server.published(1))
    cpu, rss = server.stat()
    print(f"cold start to first diagnostics: {time.monotonic() - start:.3f} s [{cpu:.2f} s], "
          f"{found} findings, {rss >> 20} MiB")

    pull = {"textDocument": {"uri": uri}}

    def type_keys(server, answered):
        waits, costs = [], []
        for version in range(2, 102):
            before, _ = server.stat()
            start = time.monotonic()
            change(server, version, version % 2 == 0)
            answered(version)
            waits.append(time.monotonic() - start)
            costs.append(server.stat()[0] - before)
            # Nobody types faster.
            time.sleep(0.05)
        waits.sort()
        return (f"p50 {waits[50] * 1000:.0f} ms, p95 {waits[95] * 1000:.0f} ms "
                f"[{sum(costs) / len(costs) * 1000:.0f} ms each]")

    print("key stroke to diagnostics that are sent:", type_keys(server, server.published))
    server.close()

    server = Server(binary, root, pull=True)
    open_in(server)
    server.request("textDocument/diagnostic", pull)
    asked = type_keys(server, lambda _: server.request("textDocument/diagnostic", pull))
    print("key stroke to diagnostics that are asked for:", asked)
    before, _ = server.stat()
    start = time.monotonic()
    for stroke in range(2000):
        change(server, stroke + 200, stroke % 2 == 0)
    server.request("textDocument/diagnostic", pull)
    cpu = server.stat()[0] - before
    print(f"2,000 changes and one pull: {(time.monotonic() - start) * 1000:.0f} ms [{cpu * 1000:.0f} ms]")

    # The first runs fill what the later ones take over.
    warm = min(1000, edits)
    for stroke in range(2000, 2000 + warm + edits):
        if stroke == 2000 + warm:
            _, before = server.stat()
        change(server, stroke + 200, stroke % 2 == 0)
        if stroke % 50 == 0:
            server.request("textDocument/diagnostic", pull)
    server.request("textDocument/diagnostic", pull)
    _, after = server.stat()
    print(f"memory over {edits} edits after {warm} others, a pull at every 50th: {before >> 20} MiB to {after >> 20} MiB "
          f"({(after - before) * 100 / before:+.1f} %)")
    server.close()


main()
