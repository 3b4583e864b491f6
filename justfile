# The project's commands. `just --list` shows them.

set positional-arguments

target := env("CARGO_TARGET_DIR", justfile_directory() / "target")

# Builds everything, runs every test.
test: plugins
    cargo test --workspace --no-fail-fast

# The target that plugins are built for.
[private]
wasm-target:
    @rustup target list --installed | grep -qx wasm32-wasip2 || rustup target add wasm32-wasip2

# Builds the plugins and the components that tests run.
plugins: wasm-target
    cargo build --profile plugin --target wasm32-wasip2 -p probe

# Formatting and lints, warnings as errors.
lint:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets -- -D warnings
    cargo check -p stagewright --no-default-features
