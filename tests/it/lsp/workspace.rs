//! The diagnostics of files that are not open.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::{Editor, LEAK, LEAKS, places, pulling, uri};
use crate::cli::module;

/// Asks for the diagnostics of the workspace, with what is known of it: files with their numbers.
fn ask(editor: &mut Editor, known: &[(&Path, &Value)]) -> i64 {
    let known: Vec<Value> =
        known.iter().map(|(path, id)| json!({ "uri": uri(path), "value": id })).collect();
    editor.ask("workspace/diagnostic", json!({ "previousResultIds": known }))
}

/// What is told of a file: nothing, that it is as it was, or its diagnostics.
fn told(items: &Value, path: &Path) -> Option<Result<Vec<String>, ()>> {
    let of_path = |item: &&Value| item["uri"] == json!(uri(path));
    let item = items.as_array().expect("a list").iter().find(of_path)?;
    assert!(item["version"].is_null() || item["version"].is_i64());
    Some(match item["kind"].as_str() {
        Some("unchanged") => Err(()),
        _ => Ok(places(item["items"].as_array().expect("a list"))),
    })
}

fn number(items: &Value, path: &Path) -> Value {
    let of_path = |item: &&Value| item["uri"] == json!(uri(path));
    let item = items.as_array().expect("a list").iter().find(of_path).expect("a file");
    item["resultId"].clone()
}

fn changed_on_disk(editor: &mut Editor, path: &Path) {
    let changes = json!([{ "uri": uri(path), "type": 2 }]);
    editor.notify("workspace/didChangeWatchedFiles", json!({ "changes": changes }));
}

#[test]
fn files_that_are_not_open_are_told_of_when_they_change() {
    let module = module(&[("p.go", LEAKS), ("q/q.go", "package q\n")]);
    let (path, other) = (module.path().join("p.go"), module.path().join("q/q.go"));
    let mut editor = Editor::open(module.path(), pulling(), Value::Null);
    let id = ask(&mut editor, &[]);
    let first = editor.answer(id).expect("a report")["items"].clone();
    assert_eq!(told(&first, &path), Some(Ok(vec![LEAK.to_owned()])));
    assert_eq!(told(&first, &other), None);
    // Who knows all this waits until there is something new.
    let known = number(&first, &path);
    let id = ask(&mut editor, &[(&path, &known)]);
    fs::write(&other, LEAKS.replace("package p", "package q")).expect("a file");
    changed_on_disk(&mut editor, &other);
    let second = editor.answer(id).expect("a report")["items"].clone();
    assert_eq!(told(&second, &path), Some(Err(())));
    assert_eq!(told(&second, &other), Some(Ok(vec![LEAK.to_owned()])));
    let others = number(&second, &other);
    let id = ask(&mut editor, &[(&path, &known), (&other, &others)]);
    fs::write(&path, "package p\n").expect("a file");
    changed_on_disk(&mut editor, &path);
    let third = editor.answer(id).expect("a report")["items"].clone();
    assert_eq!(told(&third, &path), Some(Ok(Vec::new())));
    assert_eq!(told(&third, &other), Some(Err(())));
    editor.close();
}

#[test]
fn what_is_typed_counts_and_what_is_saved_is_looked_at_anew() {
    let user = "package p\n\nimport \"example.com/m/q\"\n\nfunc F() {\n\tch := make(chan int)\n\tgo q.Send(ch)\n}\n";
    let sends = "package q\n\nfunc Send(ch chan int) { ch <- 1 }\n";
    let module = module(&[("p.go", user), ("q/q.go", sends)]);
    let (path, imported) = (module.path().join("p.go"), module.path().join("q/q.go"));
    let mut editor = Editor::open(module.path(), pulling(), Value::Null);
    editor.did_open(&imported, "package q\n\nfunc Send(ch chan int) { close(ch) }\n");
    let id = ask(&mut editor, &[]);
    let first = editor.answer(id).expect("a report")["items"].clone();
    assert_eq!(told(&first, &path), None);
    let id = ask(&mut editor, &[]);
    editor.did_change(&imported, 2, json!([{ "text": sends }]));
    let document = json!({ "uri": uri(&imported) });
    editor.notify("textDocument/didSave", json!({ "textDocument": document }));
    let second = editor.answer(id).expect("a report")["items"].clone();
    assert!(matches!(told(&second, &path), Some(Ok(found)) if found.len() == 1), "{second}");
    editor.close();
}

#[test]
fn how_far_it_is_and_what_is_known_already_is_told_on_the_way() {
    let module = module(&[("p.go", LEAKS)]);
    let path = module.path().join("p.go");
    let mut editor = Editor::open(module.path(), pulling(), Value::Null);
    let params = json!({
        "previousResultIds": [], "workDoneToken": "far", "partialResultToken": 7,
    });
    let answer = editor.request("workspace/diagnostic", params).expect("a report");
    assert_eq!(answer, json!({ "items": [] }));
    let progress = |editor: &Editor, token: Value| -> Vec<Value> {
        let of_token = |message: &&Value| {
            message["method"] == "$/progress" && message["params"]["token"] == token
        };
        let messages = editor.unread.iter().filter(of_token);
        messages.map(|message| message["params"]["value"].clone()).collect()
    };
    let parts = progress(&editor, json!(7));
    assert_eq!(parts.len(), 1);
    assert_eq!(told(&parts[0]["items"], &path), Some(Ok(vec![LEAK.to_owned()])));
    let work = progress(&editor, json!("far"));
    assert_eq!(work[0]["kind"], "begin");
    assert_eq!(work.last().map(|last| &last["kind"]), Some(&json!("end")));
    editor.close();
}

#[test]
fn folders_come_and_go() {
    let (one, two) = (module(&[("p.go", LEAKS)]), module(&[("p.go", LEAKS)]));
    let (first, second) = (one.path().join("p.go"), two.path().join("p.go"));
    let mut editor = Editor::open(one.path(), pulling(), Value::Null);
    let id = ask(&mut editor, &[]);
    let items = editor.answer(id).expect("a report")["items"].clone();
    assert!(told(&items, &first).is_some() && told(&items, &second).is_none());
    let folder = |dir: &Path| json!([{ "uri": uri(dir), "name": "m" }]);
    let event = json!({ "added": folder(two.path()), "removed": [] });
    editor.notify("workspace/didChangeWorkspaceFolders", json!({ "event": event }));
    let id = ask(&mut editor, &[]);
    let items = editor.answer(id).expect("a report")["items"].clone();
    assert!(told(&items, &first).is_some() && told(&items, &second).is_some());
    let (known, others) = (number(&items, &first), number(&items, &second));
    let event = json!({ "added": [], "removed": folder(one.path()) });
    editor.notify("workspace/didChangeWorkspaceFolders", json!({ "event": event }));
    let id = ask(&mut editor, &[(&first, &known), (&second, &others)]);
    let items = editor.answer(id).expect("a report")["items"].clone();
    assert_eq!(told(&items, &first), Some(Ok(Vec::new())));
    assert_eq!(told(&items, &second), Some(Err(())));
    editor.close();
}

#[test]
fn a_request_that_waits_can_be_taken_back_and_ends_with_the_server() {
    let module = module(&[("p.go", LEAKS)]);
    let mut editor = Editor::open(module.path(), pulling(), Value::Null);
    let id = ask(&mut editor, &[]);
    editor.answer(id).expect("a report");
    let id = ask(&mut editor, &[]);
    editor.notify("$/cancelRequest", json!({ "id": id }));
    assert_eq!(editor.answer(id), Err(-32800));
    let id = ask(&mut editor, &[]);
    assert_eq!(editor.request("shutdown", Value::Null), Ok(Value::Null));
    assert_eq!(editor.answer(id), Err(-32800));
    editor.notify("exit", Value::Null);
    assert_eq!(editor.end().code(), Some(0));
}

#[test]
fn the_workspace_is_offered_to_those_who_ask_and_want_it() {
    let module = module(&[]);
    for (capabilities, settings, offered) in [
        (pulling(), Value::Null, json!(true)),
        (pulling(), json!({ "workspaceDiagnostics": false }), json!(false)),
        (json!({}), Value::Null, Value::Null),
    ] {
        let mut editor = Editor::start(module.path());
        let params = json!({
            "processId": null, "rootUri": null, "capabilities": capabilities,
            "initializationOptions": settings,
        });
        let answer = editor.request("initialize", params).expect("an answer");
        let provider = &answer["capabilities"]["diagnosticProvider"];
        assert_eq!(provider["workspaceDiagnostics"], offered);
        editor.close();
    }
}

#[test]
fn a_folder_that_holds_the_libraries_is_not_looked_at() {
    let mut editor = Editor::open(Path::new("/"), pulling(), Value::Null);
    let id = ask(&mut editor, &[]);
    assert_eq!(editor.answer(id), Ok(json!({ "items": [] })));
    let log = editor.wait("a line of the log", |message| message["method"] == "window/logMessage");
    let message = log["params"]["message"].as_str().expect("a text");
    assert!(message.starts_with("`/` is not analysed as a whole"), "{message}");
    editor.close();
}
