#!/bin/sh
# reviewdog: findings as comments on the lines of a change. Arguments are reviewdog's, such as -reporter=github-pr-review.
set -eu
straggler check --exit-zero --format rdjson | reviewdog -f=rdjson -name=straggler "$@"
