//! The program `stagewright`.

fn main() -> std::process::ExitCode {
    stagewright::cli::main()
}
