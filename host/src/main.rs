//! The program `stagewright`.

/// Rows, texts and tasks are made on one thread and dropped on another all the time,
/// which the system's allocator is slow at.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    stagewright::cli::main()
}
