//! `state`: what a plugin keeps from one call to the next.

use super::answer;
use super::wit::state::{Host, Scope};
use super::wit::types::Refusal;
use crate::model;
use crate::sandbox::instance::CallState;

fn scope(scope: Scope) -> model::Scope {
    match scope {
        Scope::Stage => model::Scope::Stage,
        Scope::Deployment => model::Scope::Deployment,
        Scope::Application => model::Scope::Application,
        Scope::Shared => model::Scope::Shared,
    }
}

/// The scope, if a plugin may write there.
fn writable(from: Scope, call: &str) -> Result<model::Scope, model::Refusal> {
    match scope(from) {
        model::Scope::Shared => Err(model::Refusal::Denied(format!(
            "state.{call}: the scope `shared` is written by the host alone; use `stage`, \
             `deployment` or `application`"
        ))),
        scope => Ok(scope),
    }
}

type Answer<T> = wasmtime::Result<Result<T, Refusal>>;

impl Host for CallState {
    async fn get(&mut self, from: Scope, key: String) -> Answer<Option<Vec<u8>>> {
        answer(self.services.get(scope(from), &key).await)
    }

    async fn put(&mut self, to: Scope, key: String, value: Vec<u8>) -> Answer<()> {
        answer(match writable(to, "put") {
            Ok(scope) => self.services.put(scope, vec![(key, value)]).await,
            Err(refusal) => Err(refusal),
        })
    }

    async fn put_many(&mut self, to: Scope, values: Vec<(String, Vec<u8>)>) -> Answer<()> {
        answer(match writable(to, "put-many") {
            Ok(scope) => self.services.put(scope, values).await,
            Err(refusal) => Err(refusal),
        })
    }

    async fn delete(&mut self, from: Scope, key: String) -> Answer<()> {
        answer(match writable(from, "delete") {
            Ok(scope) => self.services.delete(scope, &key).await,
            Err(refusal) => Err(refusal),
        })
    }

    async fn keys(&mut self, from: Scope, prefix: String) -> Answer<Vec<String>> {
        answer(self.services.keys(scope(from), &prefix).await)
    }
}
