//! The bare thing: wasmtime alone, as fast as it goes for a fresh instance a
//! call. `InstancePre`, a pool, the same preopened directories as the host gives,
//! every import of the contract answered with nothing.

use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use stagewright_tests::Scene;
use wasmtime::component::{Component, InstancePre, Linker, ResourceTable, ResourceType};
use wasmtime::{Config, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, Store};
use wasmtime_wasi::{FsPerms, WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};

mod bindings {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "executor-export",
        exports: { default: async },
    });
}

use bindings::ExecutorExportIndices;
use bindings::exports::stagewright::plugin::executor::{Cause, Stage, StageRequest};
use bindings::stagewright::plugin::types::{
    Application, Commit, Deployment, PlanInput, Source, Trigger,
};

/// The functions of the contract's imports, by interface.
const IMPORTS: [(&str, &[&str]); 6] = [
    ("types", &[]),
    ("log", &["write", "status"]),
    ("state", &["get", "put", "put-many", "delete", "keys"]),
    ("control", &["cancelled", "subscribe"]),
    ("commands", &["after"]),
    (
        "process",
        &[
            "spawn",
            "[method]child.subscribe",
            "[method]child.exited",
            "[method]child.wait",
            "[method]child.captured",
            "[method]child.kill",
        ],
    ),
];

/// A component that is ready to be called.
pub(crate) struct Bare {
    engine: Engine,
    pre: InstancePre<State>,
    indices: ExecutorExportIndices,
    target: PathBuf,
    scratch: PathBuf,
}

struct State {
    wasi: WasiCtx,
    table: ResourceTable,
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView {
            ctx: &mut self.wasi,
            table: &mut self.table,
        }
    }
}

impl Bare {
    pub(crate) fn new(bytes: &[u8], scene: &Scene) -> Self {
        let mut pool = PoolingAllocationConfig::new();
        pool.total_component_instances(1000)
            .total_core_instances(5000)
            .total_memories(1000)
            .total_tables(3000)
            .total_stacks(1000)
            .max_memories_per_module(8)
            .max_tables_per_module(8)
            .table_elements(200_000)
            .decommit_batch_size(32);
        let mut config = Config::new();
        config
            .epoch_interruption(true)
            .allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
        let engine = Engine::new(&config).expect("there is an engine");
        tick(&engine);
        let component = Component::from_binary(&engine, bytes).expect("it is a component");
        let mut linker: Linker<State> = Linker::new(&engine);
        wasmtime_wasi::p2::add_to_linker_async(&mut linker).expect("WASI is linked once");
        for (interface, functions) in IMPORTS {
            let name = format!("stagewright:plugin/{interface}@0.1.0");
            let mut instance = linker.instance(&name).expect("each interface comes once");
            if interface == "process" {
                instance
                    .resource("child", ResourceType::host::<u32>(), |_, _| Ok(()))
                    .expect("the resource comes once");
            }
            for function in functions {
                instance
                    .func_new(function, |_, _, _, _| Ok(()))
                    .expect("each function comes once");
            }
        }
        let pre = linker
            .instantiate_pre(&component)
            .expect("all imports are there");
        let indices = ExecutorExportIndices::new(&pre).expect("it exports the executor");
        Self {
            engine,
            pre,
            indices,
            target: scene.path("target"),
            scratch: scene.path("scratch"),
        }
    }

    /// One call in a fresh instance.
    pub(crate) async fn call(&self) {
        let mut wasi = WasiCtxBuilder::new();
        wasi.preopened_dir(&self.target, "/target", FsPerms::ReadOnly)
            .and_then(|wasi| wasi.preopened_dir(&self.scratch, "/scratch", FsPerms::ReadWrite))
            .expect("the directories are there");
        let state = State {
            wasi: wasi.build(),
            table: ResourceTable::new(),
        };
        let mut store = Store::new(&self.engine, state);
        store.set_epoch_deadline(1);
        store.epoch_deadline_async_yield_and_update(1);
        let instance = self
            .pre
            .instantiate_async(&mut store)
            .await
            .expect("there is room");
        let exports = self
            .indices
            .load(&mut store, &instance)
            .expect("they were found before");
        let executor = exports.stagewright_plugin_executor();
        let answer = executor.call_execute_stage(&mut store, &request()).await;
        answer
            .expect("it does not trap")
            .expect("it does nothing, with success");
    }
}

/// Lets epochs pass every ten milliseconds, as long as the engine is there.
fn tick(engine: &Engine) {
    let engine = engine.weak();
    thread::spawn(move || {
        while let Some(engine) = engine.upgrade() {
            engine.increment_epoch();
            drop(engine);
            thread::sleep(Duration::from_millis(10));
        }
    });
}

/// What the host gives in the same call.
fn request() -> StageRequest {
    StageRequest {
        input: PlanInput {
            deployment: Deployment {
                id: "deployment-1".into(),
                application: Application {
                    id: "app-1".into(),
                    name: "shop".into(),
                    labels: Vec::new(),
                },
                trigger: Trigger {
                    commit: Commit {
                        hash: "c0ffee".into(),
                        message: "Change the colour".into(),
                        author: "ada".into(),
                        branch: Some("main".into()),
                        created_at: 1,
                        url: None,
                        pull_request: None,
                    },
                    commander: None,
                    at: 2,
                },
            },
            source_remote_url: "https://example.com/shop.git".into(),
            last_successful_commit_hash: None,
            last_successful_config_file_name: None,
            plugin_config: "{}".into(),
            application_section: "{}".into(),
            deploy_targets: Vec::new(),
            target_source: Source {
                root: "/target".into(),
                directory: "/target/site".into(),
                commit_hash: "c0ffee".into(),
                config_file_name: "app.pipecd.yaml".into(),
                config_text: "kind: Application\n".into(),
                shared_directory: Some("/target/.pipe".into()),
            },
            running_source: None,
        },
        stage: Stage {
            id: "stage-1".into(),
            name: "PROBE".into(),
            index: 0,
            rollback: false,
            metadata: Vec::new(),
            first_started_at: 3,
            attempt: 1,
            turn: 1,
            cause: Cause::First,
        },
        options: r#"{"do":[]}"#.into(),
    }
}
