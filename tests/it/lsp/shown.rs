//! What a client shows besides diagnostics: lenses, and documents that the server writes.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::{Editor, LEAKS, actions, pulling, uri};
use crate::cli::module;

/// The path of a URI that needs no decoding.
fn path(uri: &Value) -> PathBuf {
    PathBuf::from(uri.as_str().and_then(|uri| uri.strip_prefix("file://")).expect("a file"))
}

#[test]
fn the_page_of_a_rule_stands_behind_its_name() {
    let module = module(&[]);
    let file = module.path().join("p.go");
    let mut capabilities = pulling();
    capabilities["textDocument"]["publishDiagnostics"] = json!({ "codeDescriptionSupport": true });
    let mut editor = Editor::open(module.path(), capabilities, Value::Null);
    editor.did_open(&file, LEAKS);
    let found = editor.pulled(&file);
    let page = path(&found[0]["codeDescription"]["href"]);
    let text = fs::read_to_string(&page).expect("a page");
    assert!(text.starts_with("**send-without-receiver**: "), "{text}");
    editor.close();
    assert!(!page.exists(), "the page goes with the server");
    let mut editor = Editor::open(module.path(), pulling(), Value::Null);
    editor.did_open(&file, LEAKS);
    assert_eq!(editor.pulled(&file)[0].get("codeDescription"), None);
    editor.close();
}

#[test]
fn how_a_finding_comes_about_is_shown_as_a_document() {
    let module = module(&[]);
    let file = module.path().join("p.go");
    let mut capabilities = pulling();
    capabilities["window"] = json!({ "showDocument": { "support": true } });
    let mut editor = Editor::open(module.path(), capabilities, Value::Null);
    editor.did_open(&file, LEAKS);
    let offered = actions(&mut editor, &file, 6, Value::Null);
    let show = offered.last().expect("actions");
    assert_eq!(show["title"], "Show how it comes about");
    let command = &show["command"];
    let params = json!({ "command": command["command"], "arguments": command["arguments"] });
    assert_eq!(editor.request("workspace/executeCommand", params), Ok(Value::Null));
    let asked = editor.wait("a document", |message| message["method"] == "window/showDocument");
    let text = fs::read_to_string(path(&asked["params"]["uri"])).expect("a document");
    assert!(text.starts_with("# send-without-receiver\n\n"), "{text}");
    assert!(
        text.contains("1. `p.go:6`: ") && text.contains("\n       ch := make(chan int)\n"),
        "{text}"
    );
    let of_another = json!([uri(&file), "none"]);
    let params = json!({ "command": "straggler.showWitness", "arguments": of_another });
    assert_eq!(editor.request("workspace/executeCommand", params), Ok(Value::Null));
    let shown = editor.wait("a message", |message| message["method"] == "window/showMessage");
    assert_eq!(shown["params"]["message"], "this finding is no longer there");
    for command in ["rm", "straggler.showWitness"] {
        let params = json!({ "command": command, "arguments": [] });
        assert_eq!(editor.request("workspace/executeCommand", params), Err(-32602));
    }
    editor.close();
}

#[test]
fn lenses_are_shown_to_those_who_want_them() {
    let module = module(&[]);
    let file = module.path().join("p.go");
    let mut editor = Editor::open(module.path(), pulling(), Value::Null);
    editor.did_open(&file, LEAKS);
    let params = json!({ "textDocument": { "uri": uri(&file) } });
    let none = editor.request("textDocument/codeLens", params.clone()).expect("lenses");
    assert_eq!(none, json!([]));
    let settings = json!({ "settings": { "straggler": { "codeLens": true } } });
    editor.notify("workspace/didChangeConfiguration", settings);
    let lenses = editor.request("textDocument/codeLens", params).expect("lenses");
    let told: Vec<String> = lenses
        .as_array()
        .expect("a list")
        .iter()
        .map(|lens| {
            let title = lens["command"]["title"].as_str().expect("a text");
            format!("{}: {title}", lens["range"]["start"]["line"])
        })
        .collect();
    assert_eq!(
        told,
        [
            "5: Who uses this channel: sent to: line 7, in a function literal; \
             received from: line 9, beside other arms; closed: nowhere that is known",
            "6: How this goroutine ends: it runs to its end; \
             line 7: it may wait to send; nobody but its partner ends that; \
             it tells by make(chan int) when it is done; F may be left without waiting",
        ]
    );
    editor.close();
}
