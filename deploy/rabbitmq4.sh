#!/usr/bin/env bash
# rabbitmq4.sh FOLDER: RabbitMQ 4 from Debian sid in a folder of its own, kept between runs (root on Debian).
# RAQUO_DEBIAN_MIRROR names another mirror than debootstrap's own. What debootstrap mounts while it works is mounted
# in a namespace of its own, so that an interrupted run leaves no mount behind; `.ready` is written last of all.
set -euo pipefail
. "$(dirname "$0")/debian.sh"
folder=$1
[ -f "$folder/.ready" ] && exit 0
[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null ||
    { echo "preparing RabbitMQ 4 needs root on Debian; elsewhere point RAQUO_TEST_BROKER at a broker" >&2; exit 1; }
command -v debootstrap >/dev/null || install_packages debootstrap
echo "preparing RabbitMQ 4 in $folder (about a minute, once)"
rm -rf "$folder"
mkdir -p "$folder"
unshare --mount debootstrap --variant=minbase --include=rabbitmq-server sid "$folder" ${RAQUO_DEBIAN_MIRROR:-} >"$folder.log" 2>&1 ||
    { tail -n 20 "$folder.log" >&2; exit 1; }
rm -rf "$folder/var/cache/apt/archives"/*.deb "$folder.log"
touch "$folder/.ready"
