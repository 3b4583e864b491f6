//! What a file is, told from its first bytes: so that a wrong one is refused in
//! one sentence that says what to do, rather than in a compiler's words.

use super::LoadError;

const MAGIC: &[u8] = b"\0asm";
const MODULE: &[u8] = &[1, 0, 0, 0];
const COMPONENT: &[u8] = &[0x0d, 0, 1, 0];

/// Refuses what can't be a component.
pub(super) fn identify(bytes: &[u8]) -> Result<(), LoadError> {
    if bytes.is_empty() {
        return Err(LoadError::NotAComponent(
            "is empty: build or copy it again".to_owned(),
        ));
    }
    if bytes.len() < MAGIC.len() + 4 && MAGIC.starts_with(&bytes[..bytes.len().min(4)]) {
        return Err(truncated(bytes.len()));
    }
    if let Some(rest) = bytes.strip_prefix(MAGIC) {
        return match rest {
            rest if rest.starts_with(COMPONENT) => Ok(()),
            rest if rest.starts_with(MODULE) => Err(LoadError::NotAComponent(
                "is a core WebAssembly module, not a component: build it with \
                 `--target wasm32-wasip2`, or make a component of it with \
                 `wasm-tools component new`"
                    .to_owned(),
            )),
            rest => Err(LoadError::NotAComponent(format!(
                "is WebAssembly in a binary format that this host does not know \
                 (version {}, layer {}): build it as a component of today's format",
                u16::from_le_bytes([rest[0], rest[1]]),
                u16::from_le_bytes([rest[2], rest[3]]),
            ))),
        };
    }
    if wasmtime::Engine::detect_precompiled(bytes).is_some() {
        return Err(LoadError::NotAComponent(
            "is a component that was compiled already (`.cwasm`), which a host never takes \
             from a plugins directory: put the `.wasm` file there"
                .to_owned(),
        ));
    }
    if is_text_format(bytes) {
        return Err(LoadError::NotAComponent(
            "is WebAssembly in its text format: turn it into a binary with `wasm-tools parse`"
                .to_owned(),
        ));
    }
    Err(LoadError::NotAComponent(format!(
        "is no WebAssembly (it starts with {}): put a component built with \
         `--target wasm32-wasip2` there",
        first_bytes(bytes)
    )))
}

/// The error for a file that ends too soon.
pub(super) fn truncated(length: usize) -> LoadError {
    LoadError::NotAComponent(format!(
        "is truncated: it ends after {length} bytes, in the middle of a section; \
         copy or build it again"
    ))
}

/// Whether it looks like `(module …)` or `(component …)`, after comments.
fn is_text_format(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(4096)];
    let text = String::from_utf8_lossy(head);
    text.lines()
        .map(str::trim_start)
        .find(|line| !line.is_empty() && !line.starts_with(";;"))
        .is_some_and(|line| line.starts_with("(component") || line.starts_with("(module"))
}

fn first_bytes(bytes: &[u8]) -> String {
    let head = &bytes[..bytes.len().min(8)];
    if head.iter().all(|byte| (b' '..=b'~').contains(byte)) {
        format!("`{}`", String::from_utf8_lossy(head))
    } else {
        head.iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<Vec<_>>()
            .join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(bytes: &[u8]) -> String {
        identify(bytes).expect_err("a refusal").to_string()
    }

    #[test]
    fn each_kind_of_wrong_file_is_named_with_what_to_do() {
        assert!(refusal(b"").starts_with("is empty: build or copy it again"));
        assert!(refusal(b"\0as").starts_with("is truncated"));
        assert!(refusal(b"\0asm\x0d").starts_with("is truncated"));
        assert!(refusal(b"\0asm\x01\0\0\0").contains("core WebAssembly module"));
        assert!(refusal(b"\0asm\x0d\0\x07\0").contains("layer 7"));
        assert!(refusal(b";; hi\n  (component)").contains("wasm-tools parse"));
        assert!(
            refusal(b"#!/bin/sh\n").contains("`#!/bin/s"),
            "{}",
            refusal(b"#!/bin/sh\n")
        );
        assert!(refusal(b"\x7f\x01\x02").contains("7f 01 02"));
    }

    #[test]
    fn the_head_of_a_component_passes() {
        assert_eq!(identify(b"\0asm\x0d\0\x01\0"), Ok(()));
    }
}
