#!/bin/sh
set -eu
mkdir -p "$TUMULT_FOLDER"
ls "$TUMULT_FOLDER" | wc -l
