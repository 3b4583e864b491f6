# The project's commands. `just --list` shows them.

set positional-arguments

export STAGEWRIGHT_TARGET := env("CARGO_TARGET_DIR", justfile_directory() / "target")

# Builds everything, runs every test.
test: plugins
    cargo test --workspace --no-fail-fast

# Puts the project's own documentation live, three commits long.
demo: plugins
    cargo build --workspace
    sh tests/demo.sh

# Measures, each figure beside the bare thing.
bench: plugins
    CARGO_PROFILE_DEV_OPT_LEVEL=3 cargo bench --profile dev --workspace --bench call --bench runs

# Kills the program so often at random moments, and once at each point of its way.
crash kills="50": plugins
    STAGEWRIGHT_KILLS={{ kills }} cargo test --workspace --test crash -- --nocapture

# The full counts of what `just test` does a part of: minutes to an hour.
prove: plugins
    STAGEWRIGHT_HISTORIES=1000000 cargo test --workspace --lib -- --nocapture lifecycle::tests::histories
    STAGEWRIGHT_KILLS=1000 cargo test --workspace --test crash -- --nocapture

# Formatting, lints and documentation, warnings as errors; and the bare library.
lint: wasm-target
    cargo fmt --all --check
    cargo clippy --workspace --all-targets -- -D warnings
    cargo clippy --target wasm32-wasip2 --profile plugin -p wait -p approval -p script -p site -p probe -- -D warnings
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps
    cargo check -p stagewright --no-default-features --lib

# Builds the plugins, and the components that tests run.
plugins: wasm-target
    cargo build --target wasm32-wasip2 --profile plugin -p wait -p approval -p script -p site -p probe

# The target that plugins are built for.
[private]
wasm-target:
    @rustup target list --installed | grep -qx wasm32-wasip2 || rustup target add wasm32-wasip2
