//! The program: commands for people, over [`Host`].
//!
//! For people by default: colour and progress on a terminal only, plain text
//! when piped; `--output json` for programs. Exit codes are in `Exit`.

mod act;
mod backup;
mod check;
mod clean;
mod history;
mod output;
mod plan;
mod plugins;
mod progress;
mod run;
mod signals;
mod waiting;
mod work;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::{OsStringValueParser, TypedValueParser as _};
use clap::{Args, Parser, Subcommand, ValueEnum};
use tracing_subscriber::EnvFilter;

use crate::definition::{Diagnostics, HostConfig};
use crate::model::{CommandKind, Strategy, person};
use crate::{Error, Host, HostBuilder};

use clean::clean;
use output::Output;
use signals::Interrupts;

/// Runs deployment pipelines whose platform providers are sandboxed WebAssembly
/// components.
#[derive(Debug, Parser)]
#[command(version, after_help = EXIT_CODES)]
struct Cli {
    /// The host's configuration. Without it, `stagewright.yaml` in this directory
    /// is used, or the defaults if there is none.
    #[arg(
        long,
        global = true,
        value_name = "FILE",
        env = CONFIG_VARIABLE,
        value_parser = OsStringValueParser::new().map(PathBuf::from)
    )]
    config: Option<PathBuf>,

    /// How to print.
    #[arg(long, global = true, value_enum, default_value_t = Format::Text)]
    output: Format,

    /// When to use colour.
    #[arg(long, global = true, value_enum, default_value_t = When::Auto)]
    color: When,

    #[command(subcommand)]
    command: Command,
}

/// Names the configuration where `--config` does not.
const CONFIG_VARIABLE: &str = "STAGEWRIGHT_CONFIG";

const EXIT_CODES: &str = "Exit codes: 0 success, 1 the deployment failed, 2 bad input, \
                          3 cancelled, 4 the host itself failed, 5 left unfinished";

/// How to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people.
    Text,
    /// For programs: JSON, or a JSON object a line where more may come.
    Json,
}

/// When to use colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum When {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Check application files.
    Check(CheckArgs),
    /// Show how a deployment would go, without running it.
    Plan(DeployArgs),
    /// Deploy an application and follow it to its end.
    Run(RunArgs),
    /// Drive on whatever is due.
    Work(WorkArgs),
    /// List deployments, newest first.
    Deployments(ListArgs),
    /// Show a deployment and what it waits for.
    Show {
        /// The deployment's id, or the beginning of it.
        id: String,
    },
    /// Say that a deployment should not go on.
    ///
    /// What runs is told to stop and has the grace period for it. What had started
    /// is undone, unless `--no-rollback` says otherwise.
    Cancel(CancelArgs),
    /// Approve a stage that waits for it.
    Approve(ActArgs),
    /// Skip a stage that lets people skip it.
    Skip(ActArgs),
    /// Copy the state, as it is now, to a new directory; safe while others use it.
    Backup {
        /// The directory, which is made.
        #[arg(value_name = "DIRECTORY")]
        directory: PathBuf,
    },
    /// Print the log of a deployment, or of one of its stages.
    Logs(LogArgs),
    /// List the plugins, what they define and may touch, and those kept out.
    Plugins,
}

#[derive(Debug, Args)]
struct CheckArgs {
    /// The files.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Look at the files alone, without asking plugins; print each document as
    /// JSON with its first line.
    #[arg(long)]
    structure: bool,
}

#[derive(Debug, Args)]
struct DeployArgs {
    /// The application file.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The commit to take the application and its files from: a hash, a branch, a
    /// tag. Without it, the file's directory is taken as it stands.
    #[arg(long, value_name = "COMMIT")]
    commit: Option<String>,
    /// Force a strategy.
    #[arg(long, value_enum)]
    strategy: Option<Forced>,
    /// The person who asks for it.
    #[arg(long, value_name = "NAME")]
    commander: Option<String>,
}

#[derive(Debug, Args)]
struct RunArgs {
    #[command(flatten)]
    deploy: DeployArgs,
    /// Store the deployment and leave it to `stagewright work`.
    #[arg(long)]
    detach: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Forced {
    /// By the pipeline of the application file.
    Pipeline,
    /// At once.
    QuickSync,
}

impl From<Forced> for Strategy {
    fn from(forced: Forced) -> Self {
        match forced {
            Forced::Pipeline => Self::Pipeline,
            Forced::QuickSync => Self::QuickSync,
        }
    }
}

#[derive(Debug, Args)]
struct WorkArgs {
    /// End as soon as nothing is left to do now.
    #[arg(long)]
    until_idle: bool,
}

#[derive(Debug, Args)]
struct ListArgs {
    /// Only those of an application: its name or id.
    #[arg(long, value_name = "NAME")]
    application: Option<String>,
    /// Only those with this status; may be given several times.
    #[arg(long, value_name = "STATUS", value_parser = history::status)]
    status: Vec<crate::model::DeploymentStatus>,
    /// Only those stored at this time or later: a time (RFC 3339) or how long ago,
    /// such as `24h`.
    #[arg(long, value_name = "TIME", value_parser = history::time)]
    since: Option<crate::model::Timestamp>,
    /// Only those stored before this time, given alike.
    #[arg(long, value_name = "TIME", value_parser = history::time)]
    until: Option<crate::model::Timestamp>,
    /// At most so many; 1 or more.
    #[arg(long, default_value_t = 50, value_name = "COUNT", value_parser = history::limit)]
    limit: usize,
}

#[derive(Debug, Args)]
struct CancelArgs {
    /// The deployment's id, or the beginning of it.
    id: String,
    /// Stop where it stands: nothing is undone, and a rollback that runs already
    /// is stopped too.
    #[arg(long)]
    no_rollback: bool,
    /// Why, for those who read of it later.
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true
    )]
    why: String,
    #[command(flatten)]
    by: By,
}

#[derive(Debug, Args)]
struct ActArgs {
    /// The deployment's id, or the beginning of it.
    id: String,
    /// The stage: its place, its name or its id. May be left out if only one
    /// stage can be meant.
    #[arg(value_name = "STAGE")]
    stage: Option<String>,
    #[command(flatten)]
    by: By,
}

/// Who does it.
#[derive(Debug, Args)]
struct By {
    /// Who does it. Without it, the name of the user who runs this.
    #[arg(long, value_name = "NAME", env = USER_VARIABLE)]
    by: Option<String>,
}

/// Says who acts where `--by` does not.
const USER_VARIABLE: &str = "STAGEWRIGHT_USER";

impl By {
    /// Who acts if nothing is said.
    fn usual() -> Option<String> {
        let by = std::env::var(USER_VARIABLE).ok();
        By { by }.name().ok()
    }

    fn name(&self) -> Result<String, Error> {
        let user = || std::env::var("USER").ok();
        let name = self.by.clone().or_else(user).unwrap_or_default();
        if name.trim().is_empty() {
            let what = "say who does it: add `--by NAME`";
            return Err(Error::Input(what.to_owned()));
        }
        let name = person(&name).map_err(|no_name| Error::Input(no_name.to_string()))?;
        Ok(name.to_owned())
    }

    /// The same, where it may be nobody who could be named.
    fn name_if_any(&self) -> Result<Option<String>, Error> {
        match &self.by {
            Some(_) => self.name().map(Some),
            None => Ok(self.name().ok()),
        }
    }
}

#[derive(Debug, Args)]
struct LogArgs {
    /// The deployment's id, or the beginning of it.
    id: String,
    /// Only the log of this stage: its place, its name or its id; `plan` for the
    /// plan's.
    #[arg(value_name = "STAGE")]
    stage: Option<String>,
    /// Go on printing what comes, until the end.
    #[arg(long, short)]
    follow: bool,
}

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exit {
    /// All well.
    Success = 0,
    /// The deployment failed.
    Failed = 1,
    /// What was given is wrong.
    BadInput = 2,
    /// The deployment was cancelled.
    Cancelled = 3,
    /// The host itself failed.
    HostFailed = 4,
    /// The deployment is not at its end.
    Unfinished = 5,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Runs the program with the arguments of the process.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(mut cli) => {
            // A variable that is set to nothing counts as not set.
            let unset = std::env::var_os(CONFIG_VARIABLE).is_some_and(|file| file.is_empty());
            if unset
                && cli
                    .config
                    .as_ref()
                    .is_some_and(|file| file.as_os_str().is_empty())
            {
                cli.config = None;
            }
            cli
        }
        Err(error) => {
            let printed = error.print();
            if error.use_stderr() {
                // Where errors go can't be written: there is nothing left to say
                // that to.
                return Exit::BadInput.into();
            }
            // Asking for help is no mistake; losing it is one.
            let output = Output::new(Format::Text, When::Auto, None);
            output.judge(printed);
            return output.exit(Exit::Success).into();
        }
    };
    let output = Output::new(cli.output, cli.color, cli.config.as_deref());
    tracing_subscriber::fmt()
        .with_env_filter(log_filter(&output))
        .with_writer(std::io::stderr)
        .with_ansi(output.colours_errors())
        .init();
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            output.error(&format!("the host's threads could not be started: {error}"));
            return Exit::HostFailed.into();
        }
    };
    let done = runtime.block_on(run(&cli, &output));
    // The store is closed with the last task that has it; what still blocks a
    // thread must not keep the program from ending.
    runtime.shutdown_timeout(std::time::Duration::from_secs(1));
    let exit = done.unwrap_or_else(|error| {
        output.failure(&error);
        exit_of(&error)
    });
    output.exit(exit).into()
}

/// What of the host's own log is shown.
fn log_filter(output: &Output) -> EnvFilter {
    const VARIABLE: &str = "STAGEWRIGHT_LOG";
    let usual = || EnvFilter::new("warn");
    let Some(wanted) = std::env::var_os(VARIABLE).filter(|wanted| !wanted.is_empty()) else {
        return usual();
    };
    let wanted = wanted.to_string_lossy();
    EnvFilter::try_new(&wanted).unwrap_or_else(|error| {
        output.warning(&format!(
            "{VARIABLE} is `{wanted}`, which says nothing: {error}; `warn` is taken for it"
        ));
        usual()
    })
}

async fn run(cli: &Cli, output: &Output) -> Result<Exit, Error> {
    match &cli.command {
        Command::Check(args) if args.structure => Ok(check::structure(&args.files, output)),
        Command::Check(args) => {
            let host = telling(stateless(cli, output).await?, output).await?;
            check::with_plugins(&host, args, output).await
        }
        Command::Plan(args) => plan::plan(&working(cli, output).await?, args, output).await,
        Command::Run(args) => {
            let mut interrupts = Interrupts::catch();
            match until_interrupted(working(cli, output), &mut interrupts, output).await {
                Some(host) => run::run(&host?, args, interrupts, output).await,
                None => Ok(Exit::Unfinished),
            }
        }
        Command::Work(args) => {
            let mut interrupts = Interrupts::catch();
            match until_interrupted(working(cli, output), &mut interrupts, output).await {
                Some(host) => work::work(&host?, args, interrupts, output).await,
                None => Ok(Exit::Unfinished),
            }
        }
        Command::Deployments(args) => {
            history::list(&onlooker(cli, output).await?, args, output).await
        }
        Command::Show { id } => history::show(&onlooker(cli, output).await?, id, output).await,
        Command::Cancel(args) => act::cancel(&host(cli, output).await?, args, output).await,
        Command::Approve(args) => {
            act::act(
                &host(cli, output).await?,
                args,
                CommandKind::Approve,
                output,
            )
            .await
        }
        Command::Skip(args) => {
            act::act(&host(cli, output).await?, args, CommandKind::Skip, output).await
        }
        Command::Backup { directory } => {
            backup::backup(&host(cli, output).await?, directory, output).await
        }
        Command::Logs(args) => history::logs(&onlooker(cli, output).await?, args, output).await,
        Command::Plugins => plugins::list(&stateless(cli, output).await?, output).await,
    }
}

/// What a command begins with, which nothing is lost of if it is dropped; none if it
/// was interrupted before that was done.
async fn until_interrupted<T>(
    beginning: impl Future<Output = T>,
    interrupts: &mut Interrupts,
    output: &Output,
) -> Option<T> {
    tokio::select! {
        // What is done is done.
        biased;
        done = beginning => Some(done),
        () = interrupts.next() => {
            output.remark("interrupted while the plugins were being loaded: nothing was begun");
            None
        }
    }
}

/// A host of this configuration, which is not made yet.
fn builder(cli: &Cli, output: &Output) -> Result<HostBuilder, Error> {
    let config = read_config(cli.config.as_deref(), output).map_err(Error::Definition)?;
    Ok(Host::builder().config(config))
}

/// The host of this configuration, for a command about what is stored: a new, empty
/// state would only hide that this is the wrong directory.
async fn host(cli: &Cli, output: &Output) -> Result<Host, Error> {
    builder(cli, output)?.existing_state().build().await
}

/// The same, for a command that changes nothing of it.
async fn onlooker(cli: &Cli, output: &Output) -> Result<Host, Error> {
    builder(cli, output)?.to_look().build().await
}

/// The host of this configuration, for a command that works with its plugins: says
/// which of them were kept out.
async fn working(cli: &Cli, output: &Output) -> Result<Host, Error> {
    telling(builder(cli, output)?.build().await?, output).await
}

/// The same, for a command that needs nothing but the plugins.
async fn stateless(cli: &Cli, output: &Output) -> Result<Host, Error> {
    builder(cli, output)?.without_state().build().await
}

/// A host, once it has said which of its plugins were kept out.
async fn telling(host: Host, output: &Output) -> Result<Host, Error> {
    for plugin in host.plugins().await?.kept_out() {
        let file = clean(plugin.file);
        let reason = clean(plugin.reason);
        output.warning(&format!("kept out: {file} {reason}"));
    }
    Ok(host)
}

fn read_config(path: Option<&std::path::Path>, output: &Output) -> Result<HostConfig, Diagnostics> {
    let default = std::path::Path::new("stagewright.yaml");
    let path = match path {
        Some(path) => path,
        // A link that leads nowhere was meant to be one.
        None if default.is_symlink() || default.exists() => default,
        None => return Ok(HostConfig::in_directory(std::path::Path::new(""))),
    };
    let checked = HostConfig::load(path)?;
    if !checked.warnings.is_empty() {
        // They belong to no command, so a program's results are without them.
        output.show(&checked.warnings);
    }
    Ok(checked.value)
}

fn exit_of(error: &Error) -> Exit {
    if error.is_bad_input() {
        Exit::BadInput
    } else {
        Exit::HostFailed
    }
}
