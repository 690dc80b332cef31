#!/bin/bash
# Certificates of MIPLIB 3: bench/mip-certificates.sh REMAT_BB FOLDER SECONDS [NAME...] >
# bench/results/mip-certificates.csv. Solves each file (one thread, limit in seconds) without and with
# a certificate, and has it checked; processor seconds, as a machine may be busy. Files that are not
# solved are left out.
set -u
bb=$1 folder=$2 limit=$3
shift 3
[ $# -gt 0 ] || set -- $(cd "$folder" && ls -- *.mps.gz | sed 's/\.mps\.gz$//')
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
TIMEFORMAT=%U

# Processor seconds of a command, whose output goes to a file.
timed() { { time "${@:2}" > "$1" 2> /dev/null; } 2>&1; }
# A number or word of a JSON object.
field() { sed -n "s/.*\"$2\":\"\{0,1\}\([^,\"}]*\).*/\1/p" "$1" | head -1; }

echo "file,objective,seconds_without,seconds_with,lines,bytes,checking_seconds,verdict"
for name in "$@"; do
    file=$folder/$name.mps.gz
    plain=$(timed "$work/plain" "$bb" mip "$file" --threads 1 --time-limit "$limit" --json -q)
    [ "$(field "$work/plain" status)" = optimal ] || continue
    proof=$work/$name.vipr
    with=$(timed "$work/with" "$bb" mip "$file" --threads 1 --time-limit "$limit" --json -q --certificate "$proof")
    objective=$(field "$work/with" objective)
    if [ ! -e "$proof" ]; then
        echo "$name,$objective,$plain,$with,,,,none"
        continue
    fi
    checking=$(timed "$work/check" "$bb" check-certificate "$proof" "$file" --json)
    lines=$(sed -n 's/^DER //p' "$proof")
    echo "$name,$objective,$plain,$with,$lines,$(stat -c %s "$proof"),$checking,$(field "$work/check" verdict)"
    rm -f "$proof"
done
