//! The language server as an editor meets it: the real program at the other end of two pipes.

mod shown;
mod trouble;
mod workspace;

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use straggler::analysis::{self, Asked, Progress, Settings};
use straggler::config::Config;
use straggler::project;

use crate::cli::{module, straggler};
use crate::harness::{self, names_in, root};

/// Longer than any answer takes, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A goroutine that nobody waits for when `work` takes too long.
pub const LEAKS: &str = include_str!("../editors/leaks.go.txt");

/// An editor without a face.
pub struct Editor {
    server: Child,
    input: Option<ChildStdin>,
    output: Receiver<Value>,
    /// What came while something else was waited for.
    unread: Vec<Value>,
    last_id: i64,
}

impl Editor {
    /// Starts the server; nothing is said yet.
    pub fn start(dir: &Path) -> Editor {
        let mut command: Command = straggler(dir);
        let mut server = command
            .arg("lsp")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("straggler runs");
        let (told, output) = mpsc::channel();
        let mut out = BufReader::new(server.stdout.take().expect("a pipe"));
        thread::spawn(move || {
            while let Some(message) = read(&mut out) {
                let _ = told.send(message);
            }
        });
        let input = server.stdin.take();
        Editor { server, input, output, unread: Vec::new(), last_id: 0 }
    }

    /// Starts the server for a client that can do `capabilities`, in `dir`.
    pub fn open(dir: &Path, capabilities: Value, settings: Value) -> Editor {
        let mut editor = Editor::start(dir);
        let folder = json!({ "uri": uri(dir), "name": "m" });
        let params = json!({
            "processId": null, "rootUri": null, "capabilities": capabilities,
            "workspaceFolders": [folder], "initializationOptions": settings,
        });
        editor.request("initialize", params).expect("an answer");
        editor.notify("initialized", json!({}));
        editor
    }

    /// Sends bytes as they are.
    pub fn send_bytes(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("the input is open");
        input.write_all(bytes).expect("the server reads");
        input.flush().expect("the server reads");
    }

    fn send(&mut self, message: &Value) {
        let body = message.to_string();
        self.send_bytes(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Asks, and waits for the answer: the result, or the error's code.
    pub fn request(&mut self, method: &str, params: Value) -> Result<Value, i64> {
        let id = self.ask(method, params);
        self.answer(id)
    }

    fn ask(&mut self, method: &str, params: Value) -> i64 {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    fn answer(&mut self, id: i64) -> Result<Value, i64> {
        let answer = self.wait("an answer", |message| {
            message["id"] == json!(id) && message.get("method").is_none()
        });
        match answer["error"]["code"].as_i64() {
            Some(code) => Err(code),
            None => Ok(answer["result"].clone()),
        }
    }

    /// The next message that `is_it`.
    #[track_caller]
    fn wait(&mut self, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.unread.iter().position(&is_it) {
            return self.unread.remove(at);
        }
        let start = Instant::now();
        while let Ok(message) = self.output.recv_timeout(PATIENCE.saturating_sub(start.elapsed())) {
            if is_it(&message) {
                return message;
            }
            self.unread.push(message);
        }
        panic!("the server does not send {what}; it sent {:#?}", self.unread);
    }

    pub fn did_open(&mut self, path: &Path, text: &str) {
        let document = json!({ "uri": uri(path), "languageId": "go", "version": 1, "text": text });
        self.notify("textDocument/didOpen", json!({ "textDocument": document }));
    }

    fn did_change(&mut self, path: &Path, version: i64, changes: Value) {
        let document = json!({ "uri": uri(path), "version": version });
        let params = json!({ "textDocument": document, "contentChanges": changes });
        self.notify("textDocument/didChange", params);
    }

    fn did_close(&mut self, path: &Path) {
        let document = json!({ "uri": uri(path) });
        self.notify("textDocument/didClose", json!({ "textDocument": document }));
    }

    /// The diagnostics that the server sends for this version of a file.
    #[track_caller]
    fn published(&mut self, path: &Path, version: Option<i64>) -> Vec<Value> {
        let uri = uri(path);
        let sent = self.wait("diagnostics", |message| {
            message["method"] == "textDocument/publishDiagnostics"
                && message["params"]["uri"] == json!(uri)
                && message["params"].get("version").and_then(Value::as_i64) == version
        });
        sent["params"]["diagnostics"].as_array().expect("a list").clone()
    }

    /// The diagnostics of a file, asked for.
    #[track_caller]
    fn pulled(&mut self, path: &Path) -> Vec<Value> {
        let params = json!({ "textDocument": { "uri": uri(path) } });
        let report = self.request("textDocument/diagnostic", params).expect("a report");
        assert_eq!(report["kind"], "full");
        report["items"].as_array().expect("a list").clone()
    }

    /// Waits for the server's end.
    #[track_caller]
    fn end(&mut self) -> ExitStatus {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            if let Some(status) = self.server.try_wait().expect("a child of this process") {
                return status;
            }
            thread::sleep(Duration::from_millis(5));
        }
        panic!("the server does not end");
    }

    /// Says goodbye as it should be.
    #[track_caller]
    fn close(mut self) {
        assert_eq!(self.request("shutdown", Value::Null), Ok(Value::Null));
        self.notify("exit", Value::Null);
        assert_eq!(self.end().code(), Some(0));
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// A message of the server; nothing else may stand between two.
fn read(out: &mut impl BufRead) -> Option<Value> {
    let mut header = String::new();
    out.read_line(&mut header).ok().filter(|&length| length > 0)?;
    let length = header.strip_prefix("Content-Length: ").expect("a header").trim_end();
    let mut blank = String::new();
    out.read_line(&mut blank).expect("a line");
    assert_eq!(blank, "\r\n");
    let mut body = vec![0; length.parse().expect("a number")];
    out.read_exact(&mut body).ok()?;
    Some(serde_json::from_slice(&body).expect("JSON"))
}

fn uri(path: &Path) -> String {
    format!("file://{}", path.to_str().expect("UTF-8"))
}

fn pulling() -> Value {
    json!({ "textDocument": { "diagnostic": {} } })
}

/// `line:column rule` of each diagnostic, from 0.
fn places(diagnostics: &[Value]) -> Vec<String> {
    let place = |told: &Value| {
        let start = &told["range"]["start"];
        let code = told["code"].as_str().expect("a rule");
        format!("{}:{} {code}", start["line"], start["character"])
    };
    diagnostics.iter().map(place).collect()
}

const LEAK: &str = "6:13 send-without-receiver";

#[test]
fn a_finding_is_sent_and_goes_when_it_is_edited_away() {
    let module = module(&[("p.go", LEAKS)]);
    let path = module.path().join("p.go");
    let mut editor = Editor::open(module.path(), json!({}), Value::Null);
    editor.did_open(&path, LEAKS);
    let sent = editor.published(&path, Some(1));
    assert_eq!(places(&sent), [LEAK]);
    assert_eq!(sent[0]["severity"], 1);
    assert_eq!(sent[0]["source"], "straggler");
    assert_eq!(sent[0]["data"]["rule"], "send-without-receiver");
    let message = sent[0]["message"].as_str().expect("a text");
    assert!(message.contains("`ch`") && message.contains("\nhelp: "), "{message}");
    let related = sent[0]["relatedInformation"].as_array().expect("places");
    assert!(related.iter().all(|place| place["location"]["uri"] == json!(uri(&path))));
    assert!(related.iter().any(|place| place["location"]["range"]["start"]["line"] == 5));
    let end = json!({ "line": 5, "character": 20 });
    let edit = json!({ "range": { "start": end, "end": end }, "text": ", 1" });
    editor.did_change(&path, 2, json!([edit]));
    assert_eq!(editor.published(&path, Some(2)), [] as [Value; 0]);
    editor.did_change(&path, 3, json!([{ "text": LEAKS }]));
    assert_eq!(places(&editor.published(&path, Some(3))), [LEAK]);
    editor.did_close(&path);
    assert_eq!(editor.published(&path, None), [] as [Value; 0]);
    editor.close();
}

#[test]
fn who_asks_for_diagnostics_is_sent_none() {
    let module = module(&[("p.go", "package p\n")]);
    let path = module.path().join("p.go");
    let mut editor = Editor::open(module.path(), pulling(), Value::Null);
    editor.did_open(&path, LEAKS);
    assert_eq!(places(&editor.pulled(&path)), [LEAK]);
    for version in 2..200 {
        let start = json!({ "line": 5, "character": 20 });
        let end = json!({ "line": 5, "character": if version == 2 { 20 } else { 23 } });
        let text = format!(", {}", version % 2);
        editor.did_change(
            &path,
            version,
            json!([{ "range": { "start": start, "end": end }, "text": text }]),
        );
    }
    assert_eq!(places(&editor.pulled(&path)), [] as [&str; 0]);
    editor.did_change(&path, 200, json!([{ "text": LEAKS }]));
    assert_eq!(places(&editor.pulled(&path)), [LEAK]);
    let params = json!({ "textDocument": { "uri": uri(&path) } });
    let first = editor.request("textDocument/diagnostic", params.clone()).expect("a report");
    let mut again = params;
    again["previousResultId"] = first["resultId"].clone();
    let second = editor.request("textDocument/diagnostic", again).expect("a report");
    assert_eq!((&second["kind"], &second["resultId"]), (&json!("unchanged"), &first["resultId"]));
    assert_eq!(places(&editor.pulled(&module.path().join("q.go"))), [] as [&str; 0]);
    let sent = |message: &Value| message["method"] == "textDocument/publishDiagnostics";
    assert!(!editor.unread.iter().any(sent));
    editor.close();
}

#[test]
fn columns_are_in_the_units_of_the_client() {
    let text = LEAKS.replace("go func() {", "go func() { /* 𝄞é */");
    let module = module(&[]);
    let path = module.path().join("p.go");
    for (offered, units, column) in
        [(json!(["utf-16", "utf-8"]), "utf-8", 26), (json!(["utf-32"]), "utf-16", 23)]
    {
        let mut editor = Editor::start(module.path());
        let mut capabilities = pulling();
        capabilities["general"] = json!({ "positionEncodings": offered });
        let params = json!({ "processId": null, "rootUri": null, "capabilities": capabilities });
        let answer = editor.request("initialize", params).expect("an answer");
        assert_eq!(answer["capabilities"]["positionEncoding"], units);
        editor.did_open(&path, &text);
        let expected = LEAK.replace(":13", &format!(":{column}"));
        assert_eq!(places(&editor.pulled(&path)), [expected]);
        editor.close();
    }
}

#[test]
fn the_configuration_and_the_settings_hold() {
    let module = module(&[("straggler.toml", "ignore = ['send-without-receiver']\n")]);
    let path = module.path().join("p.go");
    let mut editor = Editor::open(module.path(), pulling(), Value::Null);
    editor.did_open(&path, LEAKS);
    assert_eq!(places(&editor.pulled(&path)), [] as [&str; 0]);
    let settings = json!({ "settings": { "straggler": { "ignore": ["stuck-on-purpose"] } } });
    editor.notify("workspace/didChangeConfiguration", settings);
    assert_eq!(places(&editor.pulled(&path)), [] as [&str; 0]);
    let shown = editor.wait("a message", |message| message["method"] == "window/showMessage");
    assert_eq!(shown["params"]["message"], "there is no rule or group `stuck-on-purpose`");
    fs::write(module.path().join("straggler.toml"), "").expect("a file");
    let settings = json!({ "settings": { "straggler": {} } });
    editor.notify("workspace/didChangeConfiguration", settings);
    assert_eq!(places(&editor.pulled(&path)), [LEAK]);
    fs::write(module.path().join("straggler.toml"), "ignore = ['stuck']\n").expect("a file");
    let changed = json!([{ "uri": uri(&module.path().join("straggler.toml")), "type": 2 }]);
    editor.notify("workspace/didChangeWatchedFiles", json!({ "changes": changed }));
    assert_eq!(places(&editor.pulled(&path)), [] as [&str; 0]);
    editor.close();
}

#[test]
fn what_was_changed_while_nothing_was_open_holds_when_something_is() {
    let module = module(&[]);
    let path = module.path().join("p.go");
    let mut editor = Editor::open(module.path(), pulling(), Value::Null);
    let mut reopened = |change: &dyn Fn(&mut Editor)| {
        editor.notify("textDocument/didClose", json!({ "textDocument": { "uri": uri(&path) } }));
        change(&mut editor);
        editor.did_open(&path, LEAKS);
        places(&editor.pulled(&path))
    };
    assert_eq!(reopened(&|_| {}), [LEAK]);
    let settings = |ignored: Value| {
        move |editor: &mut Editor| {
            let settings = json!({ "settings": { "straggler": { "ignore": ignored } } });
            editor.notify("workspace/didChangeConfiguration", settings);
        }
    };
    assert_eq!(reopened(&settings(json!(["stuck"]))), [] as [&str; 0]);
    assert_eq!(reopened(&settings(json!([]))), [LEAK]);
    let config = module.path().join("straggler.toml");
    let ignored = |_: &mut Editor| fs::write(&config, "ignore = ['stuck']\n").expect("a file");
    assert_eq!(reopened(&ignored), [] as [&str; 0]);
    editor.close();
}

#[test]
fn what_gopls_says_is_left_to_it_unless_it_is_asked_for() {
    let text = "package p\n\nimport (\n\t\"os\"\n\t\"os/signal\"\n)\n\nfunc F() os.Signal {\n\tc := make(chan os.Signal)\n\tsignal.Notify(c, os.Interrupt)\n\treturn <-c\n}\n";
    let lost = "package p\n\nimport \"context\"\n\nfunc F(ctx context.Context, ok bool) context.Context {\n\tctx, cancel := context.WithCancel(ctx)\n\tif ok {\n\t\treturn ctx\n\t}\n\tcancel()\n\treturn nil\n}\n";
    // Of that which gopls does not say.
    let replaced = "package p\n\nimport \"context\"\n\nfunc F(ctx context.Context, use func(context.Context)) {\n\tinner, cancel := context.WithCancel(ctx)\n\tuse(inner)\n\tinner, cancel = context.WithCancel(ctx)\n\tuse(inner)\n\tcancel()\n}\n";
    let module = module(&[]);
    let path = module.path().join("p.go");
    for (text, rule, count) in [
        (text, "signal-notify-unbuffered", 0),
        (lost, "cancel-not-called", 0),
        (replaced, "cancel-not-called", 1),
    ] {
        for (settings, count) in [(Value::Null, count), (json!({ "select": [rule] }), 1)] {
            let mut editor = Editor::open(module.path(), pulling(), settings);
            editor.did_open(&path, text);
            assert_eq!(editor.pulled(&path).len(), count, "{text}");
            editor.close();
        }
    }
}

#[test]
fn what_is_imported_is_known_and_an_edit_there_counts() {
    let user = "package p\n\nimport \"example.com/m/q\"\n\nfunc F() {\n\tch := make(chan int)\n\tgo q.Send(ch)\n}\n";
    let sends = "package q\n\nfunc Send(ch chan int) { ch <- 1 }\n";
    let module = module(&[("p.go", user), ("q/q.go", sends)]);
    let (path, imported) = (module.path().join("p.go"), module.path().join("q/q.go"));
    let mut editor = Editor::open(module.path(), pulling(), Value::Null);
    editor.did_open(&path, user);
    assert_eq!(editor.pulled(&path).len(), 1);
    editor.did_open(&imported, "package q\n\nfunc Send(ch chan int) { close(ch) }\n");
    assert_eq!(editor.pulled(&path).len(), 0);
    editor.did_close(&imported);
    assert_eq!(editor.pulled(&path).len(), 1);
    editor.close();
}

#[test]
fn only_files_of_this_machine_are_analysed() {
    let module = module(&[]);
    let mut editor = Editor::open(module.path(), pulling(), Value::Null);
    for uri in [
        "untitled:Untitled-1",
        "git:/p.go",
        "http://localhost/p.go",
        "file://h/p.go",
        "",
        "file:///p%00.go",
        "file:///C:/p.txt",
    ] {
        let document = json!({ "uri": uri, "languageId": "go", "version": 1, "text": LEAKS });
        editor.notify("textDocument/didOpen", json!({ "textDocument": document }));
        let params = json!({ "textDocument": { "uri": uri } });
        let report = editor.request("textDocument/diagnostic", params).expect("a report");
        assert_eq!(report["items"], json!([]), "{uri}");
    }
    let walked_past = module.path().join("testdata/p.go");
    editor.did_open(&walked_past, LEAKS);
    assert_eq!(places(&editor.pulled(&walked_past)), [] as [&str; 0]);
    editor.close();
}

#[test]
fn requests_out_of_order_are_errors() {
    let module = module(&[]);
    let mut editor = Editor::start(module.path());
    assert_eq!(editor.request("textDocument/diagnostic", json!({})), Err(-32002));
    assert_eq!(editor.request("initialize", json!({ "capabilities": 3 })), Err(-32602));
    let params = json!({ "processId": null, "rootUri": null, "capabilities": {} });
    editor.request("initialize", params.clone()).expect("an answer");
    assert_eq!(editor.request("initialize", params), Err(-32600));
    assert_eq!(editor.request("textDocument/frobnicate", json!({})), Err(-32601));
    assert_eq!(editor.request("textDocument/diagnostic", json!({})), Err(-32602));
    assert_eq!(editor.request("shutdown", Value::Null), Ok(Value::Null));
    assert_eq!(editor.request("textDocument/diagnostic", json!({})), Err(-32600));
    editor.notify("exit", Value::Null);
    assert_eq!(editor.end().code(), Some(0));
}

#[test]
fn garbage_is_survived() {
    let module = module(&[]);
    let path = module.path().join("p.go");
    let mut editor = Editor::open(module.path(), pulling(), Value::Null);
    editor.did_open(&path, LEAKS);
    let deep = "[".repeat(1_000_000);
    let long = format!("Content-Length: {}\r\n\r\n{deep}", deep.len());
    for bytes in [
        "Content-Length: -5\r\n\r\n",
        "Content-Length: 99999999999999\r\n\r\n{}",
        "\r\n\r\n",
        "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} ",
        "nonsense\n",
        &long,
        "Content-Length: 4\r\n\r\nnull",
        "Content-Length: 30\r\n\r\n{\"id\":1,\"method\":\"\\ud800\\ud8\"}",
        "Content-Length: 9\r\n\r\n{\"id\":{}}",
    ] {
        editor.send_bytes(bytes.as_bytes());
    }
    editor.send_bytes(b"Content-Length: 3\r\n\r\n\xff\xfe\x00");
    let id = "x".repeat(100_000);
    editor.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "a" }));
    editor.wait("an error", |message| {
        message["id"] == json!(id) && message["error"]["code"] == -32601
    });
    for params in [Value::Null, json!([]), json!({ "textDocument": 3 }), json!("\u{0}")] {
        for method in [
            "textDocument/didOpen",
            "textDocument/didChange",
            "textDocument/didClose",
            "workspace/didChangeWatchedFiles",
            "$/cancelRequest",
            "initialized",
            "x",
        ] {
            editor.notify(method, params.clone());
        }
    }
    // Ranges the wrong way round, past the end, within a character; a file that is not open.
    let position = |line: u32, character: u32| json!({ "line": line, "character": character });
    for (start, end) in [((9, 9), (0, 0)), ((u32::MAX, 0), (u32::MAX, 9)), ((0, u32::MAX), (0, 1))]
    {
        let range = json!({ "start": position(start.0, start.1), "end": position(end.0, end.1) });
        editor.did_change(&path, -7, json!([{ "range": range, "text": "𝄞" }]));
        editor.did_change(&module.path().join("q.go"), 1, json!([{ "range": range, "text": "" }]));
    }
    editor.did_change(&path, 3, json!([{ "text": LEAKS }]));
    assert_eq!(places(&editor.pulled(&path)), [LEAK]);
    editor.close();
}

#[test]
fn messages_may_come_byte_by_byte() {
    let module = module(&[]);
    let mut editor = Editor::start(module.path());
    let params = json!({ "processId": null, "rootUri": null, "capabilities": {} });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
    let body = body.to_string();
    for byte in format!("Content-Length: {}\r\n\r\n{body}", body.len()).bytes() {
        editor.send_bytes(&[byte]);
    }
    editor.answer(1).expect("an answer");
    editor.last_id = 1;
    editor.close();
}

#[test]
fn a_request_can_be_taken_back() {
    let module = module(&[]);
    let path = module.path().join("p.go");
    let mut editor = Editor::open(module.path(), pulling(), Value::Null);
    editor.did_open(&path, LEAKS);
    let params = json!({ "textDocument": { "uri": uri(&path) } });
    let id = editor.ask("textDocument/diagnostic", params);
    editor.notify("$/cancelRequest", json!({ "id": id }));
    // Whichever comes first, there is one answer.
    let answer = editor.answer(id);
    assert!(matches!(answer, Ok(_) | Err(-32800)), "{answer:?}");
    editor.close();
}

#[test]
fn the_server_ends_with_its_input() {
    let module = module(&[]);
    let mut editor = Editor::open(module.path(), json!({}), Value::Null);
    editor.did_open(&module.path().join("p.go"), LEAKS);
    drop(editor.input.take());
    assert_eq!(editor.end().code(), Some(1));
}

#[cfg(unix)]
#[test]
fn the_server_ends_with_the_process_that_started_it() {
    let module = module(&[]);
    let mut process = Command::new("sleep").arg("600").spawn().expect("sleep runs");
    let mut editor = Editor::start(module.path());
    let params = json!({ "processId": process.id(), "rootUri": null, "capabilities": {} });
    editor.request("initialize", params).expect("an answer");
    process.kill().expect("a child of this process");
    process.wait().expect("a child of this process");
    assert_eq!(editor.end().code(), Some(1));
}

/// The answer to `textDocument/codeAction` for a line.
fn actions(editor: &mut Editor, path: &Path, line: u32, only: Value) -> Vec<Value> {
    let place = json!({ "line": line, "character": 15 });
    let params = json!({
        "textDocument": { "uri": uri(path) },
        "range": { "start": place, "end": place },
        "context": { "diagnostics": [], "only": only },
    });
    let answer = editor.request("textDocument/codeAction", params).expect("actions");
    answer.as_array().expect("a list").clone()
}

/// `text` after the edits of an action, which change this file alone.
fn apply(text: &str, path: &Path, action: &Value) -> String {
    let changes = action["edit"]["changes"].as_object().expect("edits");
    assert_eq!(changes.keys().collect::<Vec<_>>(), [&uri(path)]);
    let offset = |place: &Value| {
        let number = |of: &str| place[of].as_u64().expect("a number") as usize;
        let lines = text.split_inclusive('\n').take(number("line"));
        lines.map(str::len).sum::<usize>() + number("character")
    };
    let mut text = text.to_owned();
    for edit in changes[&uri(path)].as_array().expect("edits").iter().rev() {
        let (start, end) = (offset(&edit["range"]["start"]), offset(&edit["range"]["end"]));
        text.replace_range(start..end, edit["newText"].as_str().expect("a text"));
    }
    text
}

#[test]
fn a_finding_can_be_ignored_where_it_stands() {
    let module = module(&[]);
    let path = module.path().join("p.go");
    let mut editor = Editor::open(module.path(), pulling(), Value::Null);
    editor.did_open(&path, LEAKS);
    assert_eq!(actions(&mut editor, &path, 2, Value::Null), [] as [Value; 0]);
    let offered = actions(&mut editor, &path, 6, json!(["quickfix"]));
    let titles: Vec<&str> = offered.iter().filter_map(|action| action["title"].as_str()).collect();
    assert_eq!(
        titles,
        [
            "Give `ch` room for 1",
            "Ignore `send-without-receiver` here",
            "Ignore `send-without-receiver` in this declaration",
        ]
    );
    for (version, action) in offered.iter().enumerate() {
        assert_eq!(action["kind"], "quickfix");
        assert_eq!(places(action["diagnostics"].as_array().expect("a list")), [LEAK]);
        let text = apply(LEAKS, &path, action);
        let ignores = text.contains("//straggler:ignore send-without-receiver REASON\n");
        assert_eq!(ignores, version > 0, "{text}");
        editor.did_change(&path, version as i64 + 2, json!([{ "text": text }]));
        assert_eq!(places(&editor.pulled(&path)), [] as [&str; 0], "{text}");
    }
    editor.close();
}

#[test]
fn safe_fixes_are_offered_and_all_of_them_at_once() {
    let text = "package p\n\nfunc F() {} //straggler:ignore stuck it is not\n\n\
                //straggler:ignore double-lock it is not\nfunc G() {}\n";
    let module = module(&[]);
    let path = module.path().join("p.go");
    let settings = json!({ "select": ["ALL"] });
    let mut editor = Editor::open(module.path(), pulling(), settings);
    editor.did_open(&path, text);
    let offered = actions(&mut editor, &path, 2, Value::Null);
    assert_eq!(offered.len(), 1, "{offered:#?}");
    assert_eq!(offered[0]["title"], "Delete the directive");
    assert_eq!(offered[0]["isPreferred"], true);
    for only in ["source", "source.fixAll", "source.fixAll.straggler"] {
        let offered = actions(&mut editor, &path, 0, json!([only]));
        assert_eq!(offered.len(), 1, "{offered:#?}");
        assert_eq!(offered[0]["kind"], "source.fixAll.straggler");
        let fixed = "package p\n\nfunc F() {}\n\nfunc G() {}\n";
        assert_eq!(apply(text, &path, &offered[0]), fixed);
    }
    assert_eq!(actions(&mut editor, &path, 0, json!(["source.organizeImports"])), [] as [Value; 0]);
    editor.close();
}

/// What is told of the text `at` marks in a file, with its end.
#[track_caller]
fn hover(text: &str, at: &str) -> Option<String> {
    let module = module(&[]);
    let path = module.path().join("p.go");
    let mut capabilities = pulling();
    capabilities["textDocument"]["hover"] = json!({ "contentFormat": ["markdown"] });
    let mut editor = Editor::open(module.path(), capabilities, Value::Null);
    editor.did_open(&path, text);
    let before = &text[..text.find(at).expect("the text that is marked")];
    let line = before.matches('\n').count();
    let column = before.len() - before.rfind('\n').map_or(0, |at| at + 1);
    let position = json!({ "line": line, "character": column + 1 });
    let params = json!({ "textDocument": { "uri": uri(&path) }, "position": position });
    let told = editor.request("textDocument/hover", params).expect("an answer");
    editor.close();
    let value = told["contents"]["value"].as_str()?;
    assert_eq!(told["contents"]["kind"], "markdown");
    Some(value.to_owned())
}

#[test]
fn how_a_goroutine_ends_is_told_at_its_go_statement() {
    let leaks = hover(LEAKS, "go func").expect("something");
    assert_eq!(
        leaks,
        "**How this goroutine ends**\n\n- it runs to its end\n\
         - line 7: it may wait to send; nobody but its partner ends that\n\
         - it tells by `make(chan int)` when it is done; `F` may be left without waiting\n"
    );
    let endless = "package p\n\nfunc F(work func()) {\n\tgo func() {\n\t\tfor {\n\t\t\twork()\n\t\t}\n\t}()\n}\n";
    assert_eq!(
        hover(endless, "go func").expect("something"),
        "**How this goroutine ends**\n\n- **nothing found that ends it**: no path leads out of it\n\
         - it is not known to tell `F` when it is done\n"
    );
    let called = "package p\n\nfunc work(stop, in chan int) {\n\tfor {\n\t\tselect {\n\t\tcase <-stop:\n\t\t\treturn\n\t\tcase <-in:\n\t\t}\n\t}\n}\n\nfunc F(stop, in chan int) {\n\tgo work(stop, in)\n}\n";
    let told = hover(called, "go work").expect("something");
    assert!(told.contains("- when `work` returns\n"), "{told}");
    assert_eq!(hover(LEAKS, "select"), None);
}

#[test]
fn who_uses_a_channel_is_told_where_it_is_made() {
    assert_eq!(
        hover(LEAKS, "make(").expect("something"),
        "**Who uses this channel**\n\n- sent to: line 7, in a function literal\n\
         - received from: line 9, beside other arms\n- closed: nowhere that is known\n"
    );
    let handed =
        "package p\n\nfunc F(use func(chan int)) {\n\tch := make(chan int)\n\tuse(ch)\n}\n";
    let told = hover(handed, "make(").expect("something");
    assert!(told.ends_with("- handed on, so that there may be more: line 5\n"), "{told}");
    assert_eq!(hover("package p\n\nvar m = 1\n\nfunc F() { _ = make([]int, m) }\n", "make("), None);
}

#[test]
fn the_page_of_a_rule_is_told_at_a_directive() {
    let text = "package p\n\n//straggler:ignore lock-order,stuck since\nfunc F() {}\n";
    let told = hover(text, "lock-order").expect("something");
    assert!(told.starts_with("**lock-order**: ") && told.contains("\n### Why\n"), "{told}");
    assert_eq!(hover(text, "func F"), None);
}

/// What is compared of a finding.
fn told(path: &str, rule: &str, message: &str, start: (u32, u32), end: (u32, u32)) -> String {
    format!("{path}:{start:?}-{end:?} {rule} {message}")
}

/// What the command line finds, columns from 0 in UTF-16.
fn at_the_front_door(dir: &Path) -> Vec<String> {
    let options = harness::load_options(dir);
    let config = Config { select: Some(vec!["ALL".to_owned()]), ..Config::default() };
    let asked = Asked { config, ..Asked::default() };
    let settings = Settings::find(&options, asked).expect("settings");
    let report = analysis::on_threads(None, || {
        let snapshot = project::load(&options);
        let selections = settings.selections(&options, &snapshot).expect("settings");
        analysis::analyze(&snapshot, &settings.catalog, &selections, &Progress::default())
    })
    .expect("threads");
    let finding = |finding: &straggler::diagnostic::Finding| {
        let file = report.file(finding.primary.file);
        let place = |offset| {
            let position = file.text.position(offset);
            (position.line - 1, position.column_utf16 - 1)
        };
        let span = finding.primary.span;
        told(&file.path, finding.rule, &finding.message, place(span.start), place(span.end))
    };
    report.findings.iter().map(finding).collect()
}

/// The Go files below a directory that patterns find.
fn go_files(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                dirs.push(path);
            } else if path.extension().is_some_and(|extension| extension == "go") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// What the editor is told when every file of a directory is open.
fn at_the_side_door(editor: &mut Editor, dir: &Path) -> Vec<String> {
    let files = go_files(dir);
    for path in &files {
        editor.did_open(path, &fs::read_to_string(path).expect("text"));
    }
    let mut all = Vec::new();
    for path in &files {
        let display = path.strip_prefix(dir).expect("below").to_str().expect("UTF-8");
        for found in editor.pulled(path) {
            let place = |end: &str| {
                let number = |of: &str| found["range"][end][of].as_u64().expect("a number") as u32;
                (number("line"), number("character"))
            };
            let message = found["message"].as_str().expect("a text");
            let message = message.split('\n').next().unwrap_or_default();
            let rule = found["code"].as_str().expect("a rule");
            all.push(told(display, rule, message, place("start"), place("end")));
        }
    }
    files.iter().for_each(|path| editor.did_close(path));
    all
}

#[test]
fn every_fixture_through_both_doors() {
    // By its name, since gopls says it too.
    let settings = json!({ "select": ["ALL", "signal-notify-unbuffered", "cancel-not-called"] });
    let mut editor = Editor::open(root(), pulling(), settings);
    let mut compared = BTreeMap::new();
    for rule in names_in("fixtures/rules") {
        for case in names_in(&format!("fixtures/rules/{rule}")) {
            let dir = root().join("fixtures/rules").join(&rule).join(&case);
            let (front, side) = (at_the_front_door(&dir), at_the_side_door(&mut editor, &dir));
            assert_eq!(side, front, "{rule}/{case}");
            compared.insert(format!("{rule}/{case}"), front.len());
        }
    }
    assert!(compared.values().any(|&found| found > 0));
    editor.close();
}
