# The one list of programs that a bare machine lacks. Other scripts source it from the repository's root and call
# need_build (compile the product) or need_test (run the whole test suite). Each installs the missing programs on Debian
# and Ubuntu, as root or with sudo. On other systems it names them and ends with exit code 2.

rust_minimum=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
# Warnings of this Rust, and of earlier ones, fail the tests. A later one may have lints that the code does not know.
rust_linted=1.95
debian_packages=()

# missing_package PACKAGE COMMAND...: notes a Debian package if the command fails.
missing_package() {
    local package=$1
    shift
    "$@" >/dev/null 2>&1 || debian_packages+=("$package")
}

# install_packages: installs the noted packages.
install_packages() {
    [ ${#debian_packages[@]} -gt 0 ] || return 0
    local as_root=()
    if [ "$(id -u)" != 0 ]; then
        as_root=(sudo)
    fi
    if ! command -v apt-get >/dev/null || { [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; }; then
        echo "missing: ${debian_packages[*]} (names of Debian packages)" >&2
        echo "Install them as root, then call $0 again." >&2
        exit 2
    fi
    echo "installing ${debian_packages[*]}" >&2
    "${as_root[@]}" apt-get update -q
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install -qy --no-install-recommends "${debian_packages[@]}"
    debian_packages=()
}

# cargo_is_new_enough: whether cargo is there, in the version that Cargo.toml names or a later one.
cargo_is_new_enough() {
    local version
    version=$(cargo --version 2>/dev/null | cut -d' ' -f2) || return 1
    [ -n "$version" ] && [ "$(printf '%s\n' "$rust_minimum" "$version" | sort -V | head -n 1)" = "$rust_minimum" ]
}

# rust_is_linted: whether Rust is no later than the version whose warnings fail the tests.
rust_is_linted() {
    local version
    version=$(rustc --version | cut -d' ' -f2 | cut -d. -f1-2)
    [ "$(printf '%s\n' "$rust_linted" "$version" | sort -V | tail -n 1)" = "$rust_linted" ]
}

# need_rust: installs Rust for this user alone if cargo is missing or too old.
need_rust() {
    PATH=$PATH:${CARGO_HOME:-$HOME/.cargo}/bin
    cargo_is_new_enough && return
    if command -v rustup >/dev/null; then
        rustup toolchain install stable --profile minimal
        export RUSTUP_TOOLCHAIN=stable
    else
        missing_package curl command -v curl
        missing_package ca-certificates test -d /etc/ssl/certs
        install_packages
        # The script that https://sh.rustup.rs leads to, from the server that has Rust itself.
        local rustup=https://static.rust-lang.org/rustup/rustup-init.sh
        echo "installing Rust for this user with rustup ($rustup)" >&2
        if ! curl --proto '=https' --tlsv1.2 -sSf "$rustup" | sh -s -- -y --profile minimal; then
            echo "Rust could not be fetched. Install Rust $rust_minimum or later, then call $0 again." >&2
            exit 2
        fi
        PATH=${CARGO_HOME:-$HOME/.cargo}/bin:$PATH
    fi
    if ! cargo_is_new_enough; then
        echo "Rust $rust_minimum or later is needed; found $(cargo --version 2>&1)" >&2
        exit 2
    fi
}

need_build() {
    missing_package build-essential command -v cc
    install_packages
    need_rust
}

need_dist() {
    missing_package build-essential command -v cc
    missing_package python3 python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))'
    missing_package python3-venv python3 -c 'import ensurepip, venv'
    missing_package musl-tools command -v musl-gcc
    install_packages
    need_rust
}

# want_browser: installs a browser for the test of reports on Debian. Elsewhere, and where it cannot be had, that test is
# skipped with a reason.
want_browser() {
    command -v chromedriver >/dev/null && command -v chromium >/dev/null && return
    grep -qx 'ID=debian' /etc/os-release 2>/dev/null && [ "$(id -u)" = 0 ] || return 0
    echo "installing chromium and chromium-driver" >&2
    { apt-get update -q && DEBIAN_FRONTEND=noninteractive \
        apt-get install -qy --no-install-recommends chromium chromium-driver; } >/dev/null 2>&1 ||
        echo "no browser: the test of reports in a browser is skipped" >&2
}

need_test() {
    missing_package build-essential command -v c++
    missing_package python3 python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))'
    missing_package python3-venv python3 -c 'import ensurepip, venv'
    # Tests send signals, and make checkouts.
    missing_package procps type -P kill
    missing_package git command -v git
    # scripts/setup-torch.sh fetches libtorch with pip.
    missing_package python3-pip python3 -m pip --version
    install_packages
    if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))'; then
        echo "Python 3.10 or later is needed; found $(python3 --version 2>&1)" >&2
        exit 2
    fi
    need_rust
    local component
    for component in rustfmt clippy; do
        cargo "${component/rustfmt/fmt}" --version >/dev/null 2>&1 || rustup component add "$component"
    done
    command -v cargo-nextest >/dev/null || cargo install cargo-nextest --locked
}

# compiled_once LOG: fails if a build of some packages, whose output is in LOG, has compiled the common libraries anew.
# Their features then differ from those of the whole workspace, and the tests take minutes longer.
compiled_once() {
    if grep -q 'Compiling remat-lp ' "$1"; then
        echo "remat-lp was compiled anew: features of common crates differ between builds. Name them in python/Cargo.toml" \
            "(shared-build) and tests/Cargo.toml; see docs/inside/decisions/065-the-python-package.md" >&2
        return 1
    fi
}
