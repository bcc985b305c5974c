#!/usr/bin/env bash
# Installs RabbitMQ where none can be found; a system-wide broker does not need to run.
set -euo pipefail
. "$(dirname "$0")/debian.sh"
[ -n "${RAQUO_TEST_BROKER:-}${RAQUO_RABBITMQ_ROOT:-}" ] && exit 0
for folder in /usr/lib/rabbitmq/bin /opt/rabbitmq/sbin /opt/homebrew/opt/rabbitmq/sbin; do
    [ -x "$folder/rabbitmq-server" ] && exit 0
done
command -v rabbitmq-server >/dev/null && exit 0
command -v docker >/dev/null && timeout 10 docker info >/dev/null 2>&1 && exit 0
install_packages rabbitmq-server
