#!/bin/sh
set -eu
rm -f "$TUMULT_FOLDER"/[0-9]*
echo drained
