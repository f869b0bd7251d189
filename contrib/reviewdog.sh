#!/bin/sh
# reviewdog: findings as comments on the lines of a change. Arguments are reviewdog's, such as -reporter=github-pr-review.
# reviewdog asks whether the change touches the line where a goroutine stays. To be told also of a change elsewhere on its
# path, add `--since origin/main` to straggler's arguments, and give reviewdog -filter-mode=nofilter.
set -eu
straggler check --exit-zero --format rdjson | reviewdog -f=rdjson -name=straggler "$@"
