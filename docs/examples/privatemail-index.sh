#!/bin/sh
# Takes batches of changes into a gallery, in the order of their names:
#
#   PACK=P.pmpk STORE=STORE privatemail-index.sh INBOX
#
# A batch is a folder INBOX/NAME. Whoever makes one creates the file `ready` in it last. It may have:
#
#   remove.txt       numbers of items to remove, one per line
#   features.npy     rows to add, or to put in place of those with the same numbers; with
#   ids.txt          their numbers. Always give them: if the machine stops between taking a batch in and deleting it, the
#                    batch is taken in again, which then changes nothing
#   labels.npy       their classes, if the pack has slots by class
#   payloads/        their payloads
#
# A batch that was taken in is deleted, because it holds features. One that is wrong is moved to INBOX.failed, and the next
# ones are taken in. With any other failure the batch stays where it is, and the exit code is that of privatemail.
set -u
inbox=${1:?the folder of batches is missing}
: "${PACK:?}" "${STORE:?}"
status=0

# One command, so one version. Exit code 2 or 3: the batch is wrong, and stays so.
take() {
    batch=$1
    set --
    [ ! -e "$batch/remove.txt" ] || set -- "$@" --remove "$batch/remove.txt"
    if [ -e "$batch/features.npy" ]; then
        set -- "$@" --add "$batch/features.npy"
        [ ! -e "$batch/ids.txt" ] || set -- "$@" --ids "$batch/ids.txt"
        [ ! -e "$batch/labels.npy" ] || set -- "$@" --labels "$batch/labels.npy"
        [ ! -d "$batch/payloads" ] || set -- "$@" --payloads "$batch/payloads"
    fi
    privatemail index --store "$STORE" --pack "$PACK" "$@"
    code=$?
    case $code in
    0 | 2 | 3) return $code ;;
    *) exit $code ;;
    esac
}

for mark in "$inbox"/*/ready; do
    [ -e "$mark" ] || continue
    batch=$(dirname "$mark")
    if take "$batch"; then
        rm -rf -- "$batch"
    else
        echo "privatemail-index: $batch is wrong and was moved to $inbox.failed" >&2
        mkdir -p "$inbox.failed" && mv -- "$batch" "$inbox.failed/$(basename "$batch").$(date +%s)" || exit 4
        status=3
    fi
done
exit $status
