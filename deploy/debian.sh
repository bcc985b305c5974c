# Sourced: installing Debian packages, as root or with sudo, only where something is missing.
install_packages() {
    if ! command -v apt-get >/dev/null; then
        echo "please install: $*" >&2
        return 1
    fi
    local as_root=()
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null || { echo "please install as root: apt-get install $*" >&2; return 1; }
        as_root=(sudo)
    fi
    echo "installing $*"
    "${as_root[@]}" apt-get update -qq
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}
