#!/bin/sh
# Backup and restore, while the service goes on. See docs/operate-backups.md of the repository.
#
#   backup.sh save    <database> <documents> <backup>
#   backup.sh check   <backup file>
#   backup.sh restore <backup file> <database> <documents>
#
# <database>     the file of SQLite, or the URL of PostgreSQL. Leave its password to PGPASSWORD or ~/.pgpass: others on the
#                machine see the arguments of a program.
# <documents>    their folder; `-` where they are in an object store. Copy that one after `save`, by its own means.
# <backup>       a folder. Each `save` adds a file, named after the time, with the database of that moment. Documents never
#                change, so all of these share one copy in <backup>/documents.
# <backup file>  one of these files.
#
# Needs sqlite3 (3.38 or later), or pg_dump and pg_restore of the server's version; and sha256sum.
set -eu
umask 077
export LC_ALL=C

say() { printf '%s\n' "$*" >&2; }
fail() { say "backup.sh: $*"; exit 1; }
usage() { sed -n '4,16s/^# \{0,1\}//p' "$0" >&2; exit 2; }

# A database that is damaged is no backup.
is_whole() {
    case $1 in
    *.db) sqlite3 -readonly "$1" 'PRAGMA integrity_check' 2>/dev/null | grep -qx ok || fail "$1 is damaged" ;;
    esac
}

is_postgres() { case $1 in postgres://* | postgresql://*) true ;; *) false ;; esac }

# Writes the documents that a backup file refers to, a line each: company, upload, SHA-256.
references() {
    [ -f "$1" ] || fail "there is no backup file $1"
    case $1 in
    *.db)
        sqlite3 -readonly -separator ' ' "$1" "
            SELECT lower(hex(company_id)), lower(hex(upload_id)), sha256 FROM frozen_file" >"$work/rows"
        sed -E 's/([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12}) /\1-\2-\3-\4-\5 /g' "$work/rows"
        ;;
    *.dump)
        pg_restore --data-only --table=frozen_file --file="$work/rows" "$1"
        # The rows of a COPY, after a line with the names of its columns.
        awk -F '\t' '
            /^COPY / {
                sub(/^[^(]*\(/, ""); sub(/\).*/, "")
                count = split($0, names, ", ")
                for (i = 1; i <= count; i++) at[names[i]] = i
                inside = 1; next
            }
            $0 == "\\." { inside = 0 }
            inside { print $at["company_id"], $at["upload_id"], $at["sha256"] }' "$work/rows"
        ;;
    *) fail "$1 is no backup file" ;;
    esac
}

# Whether each document that a backup file refers to is in a folder, unchanged.
check() {
    references "$1" >"$work/references"
    # A document is <company>/<last two digits of the upload>/<upload>.pdf.
    awk '{ print $3 "  " $1 "/" substr($2, 35) "/" $2 ".pdf" }' "$work/references" >"$work/sums"
    [ ! -s "$work/sums" ] || (cd "$2" && sha256sum -c "$work/sums") >"$work/checked" 2>&1 || {
        grep ': FAILED' "$work/checked" >&2
        fail "documents are missing or damaged in $2"
    }
    say "$(wc -l <"$work/references" | tr -d ' ') documents of $1 are in $2"
}

# Lists the documents of a folder in order. Files with other names are being written.
list() {
    (cd "$1" && find . -type f -name '*.pdf') >"$2"
    sort -o "$2" "$2"
}

# Copies the documents that are not there yet. They get their places once all of them are whole.
copy_documents() {
    from=$1 to=$2 new=$2.part
    rm -rf "$new"
    mkdir -p "$to" "$new"
    list "$from" "$work/from"
    list "$to" "$work/to"
    comm -23 "$work/from" "$work/to" >"$work/missing"
    { tar -C "$from" -cf - -T "$work/missing" 2>"$work/error" || true; } | tar -C "$new" -xf -
    while IFS= read -r document; do
        # One that is gone was swept meanwhile: no record refers to it.
        [ -e "$new/$document" ] || [ ! -e "$from/$document" ] || fail "$(cat "$work/error")"
    done <"$work/missing"
    (cd "$new" && find . -type f -name '*.pdf') | sed 's,/[^/]*$,,' | sort -u >"$work/folders"
    while IFS= read -r folder; do
        if [ -e "$to/$folder" ]; then
            mv "$new/$folder"/*.pdf "$to/$folder"
        else
            mkdir -p "$to/${folder%/*}"
            mv "$new/$folder" "$to/$folder"
        fi
    done <"$work/folders"
    rm -rf "$new"
}

save() {
    database=$1 documents=$2 backup=$3
    [ "$documents" = - ] || [ -d "$documents" ] || fail "there is no folder of documents $documents"
    mkdir -p "$backup"
    name=$backup/$(date -u +%Y%m%dT%H%M%SZ)
    # The database first: what it refers to is stored by now, and is never deleted.
    if is_postgres "$database"; then
        file=$name.dump part=$name.part.dump
        pg_dump --format=custom --no-owner --no-privileges --file="$part" "$database"
    else
        file=$name.db part=$name.part.db
        [ -f "$database" ] || fail "there is no database $database"
        # The latest changes lie beside one of the names. Links are followed, here and by sqlite3.
        [ -z "$(find -L "$database" -links +1)" ] || fail "$database has several names (hard links)"
        # A snapshot, which writers do not delay. `.backup` begins again with each change of another process.
        sqlite3 -readonly "$database" "VACUUM INTO '$(printf %s "$part" | sed "s/'/''/g")'"
    fi
    [ ! -e "$file" ] || fail "$file exists"
    if [ "$documents" != - ]; then
        copy_documents "$documents" "$backup/documents"
        check "$part" "$backup/documents"
    fi
    # It gets its name last: a backup file has all of its documents.
    sync
    mv "$part" "$file"
    sync
    printf '%s\n' "$file"
}

restore() {
    file=$1 database=$2 documents=$3
    [ -f "$file" ] || fail "there is no backup file $file"
    case $file in
    *.db)
        for there in "$database" "$database-wal" "$database-journal"; do
            [ ! -e "$there" ] && [ ! -L "$there" ] || fail "$there exists"
        done
        ;;
    esac
    if [ "$documents" != - ]; then
        copy_documents "$(dirname "$file")/documents" "$documents"
        check "$file" "$documents"
    fi
    case $file in
    *.db)
        part=$database.part
        cp "$file" "$part"
        is_whole "$part"
        sync
        mv "$part" "$database"
        ;;
    *.dump)
        # All or nothing, into an empty database.
        pg_restore --no-owner --no-privileges --single-transaction --exit-on-error --dbname="$database" "$file"
        ;;
    *) fail "$file is no backup file" ;;
    esac
    sync
}

work=$(mktemp -d)
part=
trap 'rm -rf "$work" "$part"' EXIT
trap 'exit 1' HUP INT TERM
case ${1-}:$# in
save:4) save "$2" "$3" "$4" ;;
check:2)
    check "$2" "$(dirname "$2")/documents"
    is_whole "$2"
    ;;
restore:4) restore "$2" "$3" "$4" ;;
*) usage ;;
esac
