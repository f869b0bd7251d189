"""Sees a finding in Helix, types it away, and sees it go. Helix has no mode without a screen: it gets
a terminal that only this script looks at."""

import os
import sys
import time

import pexpect
import pyte

PATIENCE = 60


def main():
    screen = pyte.Screen(140, 40)
    stream = pyte.ByteStream(screen)
    helix = pexpect.spawn(sys.argv[1], sys.argv[2:], dimensions=(40, 140), env={
        **os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"})

    def read(seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                stream.feed(helix.read_nonblocking(65536, timeout=0.1))
            except pexpect.TIMEOUT:
                pass

    def shown():
        return "\n".join(line.rstrip() for line in screen.display)

    def press(keys):
        helix.send(keys)
        read(0.3)

    def wait(what, is_there):
        end = time.monotonic() + PATIENCE
        while not is_there(shown()):
            if time.monotonic() > end:
                print(f"Helix: not seen: {what}\n{shown()}")
                helix.close(force=True)
                sys.exit(1)
            read(0.2)
        print(f"Helix: {what}")

    def diagnostics():
        """Opens the list of diagnostics of the file, reads it, and closes it."""
        press(" d")
        read(0.5)
        text = shown()
        press("\x1b")
        return text

    wait("the file is open", lambda text: "make(chan int)" in text)
    wait("the finding is in the list", lambda _: "send-without-receiver" in diagnostics())
    # From the beginning of the file to the first finding, which is selected: up to its last character.
    press("gg]d")
    wait("the finding is at its place", lambda text: "7:20" in text)
    press("6gg")
    press("gl")
    press("i, 1\x1b")
    wait("it is edited", lambda text: "make(chan int, 1)" in text)
    wait("it goes when it is edited away", lambda _: "send-without-receiver" not in diagnostics())
    press("u")
    wait("it comes back when that is undone", lambda _: "send-without-receiver" in diagnostics())
    helix.send(":q!\r")
    helix.expect(pexpect.EOF, timeout=10)


main()
