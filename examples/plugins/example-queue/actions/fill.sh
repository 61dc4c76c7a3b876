#!/bin/sh
set -eu
mkdir -p "$TUMULT_FOLDER"
i=0
while [ "$i" -lt "${TUMULT_MESSAGES:-10}" ]; do
    i=$((i + 1))
    echo "message $i" > "$TUMULT_FOLDER/$i"
done
echo "$i"
