//! Any bytes as what an editor sends: first as they are, and behind an odd first byte as messages in any
//! order. The server lives until its input ends, sends nothing but the protocol, answers each request
//! once and never with a panic; after whatever was typed it tells of a text what a server tells to which it
//! is the first one.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Cursor, Read, Write};
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use straggler::lsp::{self, Outside};
use straggler::project::LoadOptions;

use super::choices::Choices;
use super::soup;

/// Longer than any answer takes.
const PATIENCE: Duration = Duration::from_secs(30);

/// Whatever directory is asked for, nothing of this machine is read.
fn outside() -> Outside {
    Outside {
        options_in: Arc::new(|_| LoadOptions::new(DIR, Vec::new())),
        kept: Box::new(|| None),
        write: Box::new(|_, name| Some(Path::new(DIR).join(name))),
    }
}

const DIR: &str = "/fuzzed";

const URIS: &[&str] = &[
    "file:///fuzzed/p.go",
    "file:///fuzzed/q.go",
    "file:///fuzzed/q/q.go",
    "file:///fuzzed/go.mod",
    "file:///fuzzed/straggler.toml",
    "untitled:Untitled-1",
    "git:/fuzzed/p.go?x",
    "http://h/p.go",
    "file:///fuzzed/%00.go",
    "file:///c%3A/p.go",
    "file://h/p.go",
    "",
    "file:///fuzzed",
];

pub fn target(bytes: &[u8]) {
    match bytes.split_first() {
        Some((first, rest)) if first % 2 == 1 => converse(rest),
        _ => garble(bytes),
    }
}

/// Sends bytes as they are.
fn garble(bytes: &[u8]) {
    let (from_server, output) = io::pipe().expect("a pipe");
    let reader = thread::spawn(|| messages(from_server));
    lsp::serve(Cursor::new(bytes.to_vec()), output, outside());
    for message in reader.join().expect("nothing but the protocol") {
        assert_no_panic(&message);
    }
}

fn assert_no_panic(message: &Value) {
    assert_ne!(message["error"]["code"], -32603, "{message}");
}

/// Everything that a server sends.
fn messages(output: impl Read) -> Vec<Value> {
    let mut output = BufReader::new(output);
    std::iter::from_fn(|| message(&mut output)).collect()
}

fn message(output: &mut impl BufRead) -> Option<Value> {
    let mut header = String::new();
    output.read_line(&mut header).ok().filter(|&length| length > 0)?;
    let length = header.strip_prefix("Content-Length: ").expect("a header").trim_end();
    let mut blank = String::new();
    output.read_line(&mut blank).expect("a line");
    assert_eq!(blank, "\r\n");
    let mut body = vec![0; length.parse().expect("a number")];
    output.read_exact(&mut body).ok()?;
    Some(serde_json::from_slice(&body).expect("JSON"))
}

/// A client.
struct Client {
    input: io::PipeWriter,
    output: mpsc::Receiver<Value>,
    server: thread::JoinHandle<bool>,
    /// How often each request was answered.
    asked: BTreeMap<i64, usize>,
}

impl Client {
    fn start(initialization: &Value) -> Client {
        let (to_read, input) = io::pipe().expect("a pipe");
        let (from_server, to_write) = io::pipe().expect("a pipe");
        let server = thread::spawn(|| lsp::serve(BufReader::new(to_read), to_write, outside()));
        let (told, output) = mpsc::channel();
        thread::spawn(move || {
            let mut from_server = BufReader::new(from_server);
            while let Some(message) = message(&mut from_server) {
                let _ = told.send(message);
            }
        });
        let mut client = Client { input, output, server, asked: BTreeMap::new() };
        client.ask("initialize", initialization);
        client.wait();
        client
    }

    fn send(&mut self, message: &Value) {
        let body = message.to_string();
        write!(self.input, "Content-Length: {}\r\n\r\n{body}", body.len()).expect("a server");
    }

    fn notify(&mut self, method: &str, params: &Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    fn ask(&mut self, method: &str, params: &Value) -> i64 {
        let id = self.asked.len() as i64 + 1;
        self.asked.insert(id, 0);
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// Waits until all is answered, and gives the last answer.
    fn wait(&mut self) -> Value {
        let mut last = Value::Null;
        while self.asked.values().any(|&answers| answers == 0) {
            let message = self.output.recv_timeout(PATIENCE);
            let message =
                message.unwrap_or_else(|_| panic!("no answer to one of {:?}", self.asked));
            assert_no_panic(&message);
            if message.get("method").is_none()
                && let Some(id) = message["id"].as_i64()
            {
                *self.asked.get_mut(&id).expect("the id of a request") += 1;
                last = message;
            }
        }
        assert!(self.asked.values().all(|&answers| answers == 1), "{:?}", self.asked);
        last
    }

    /// The diagnostics of `text`, which is opened, or typed where the file is open.
    fn told(&mut self, uri: &str, text: &str, version: i64) -> Value {
        let document = json!({ "uri": uri, "languageId": "go", "version": version, "text": text });
        self.notify("textDocument/didClose", &json!({ "textDocument": { "uri": uri } }));
        self.notify("textDocument/didOpen", &json!({ "textDocument": document }));
        self.ask("textDocument/diagnostic", &json!({ "textDocument": { "uri": uri } }));
        self.wait()["result"]["items"].clone()
    }

    /// Says goodbye.
    fn end(mut self) {
        self.ask("shutdown", &Value::Null);
        self.wait();
        self.notify("exit", &Value::Null);
        assert!(self.server.join().expect("no panic"), "a goodbye that was not heard");
    }
}

/// Sends messages, and compares what is known at the end with what a new server knows.
fn converse(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let initialization = initialization(&mut choices);
    let mut client = Client::start(&initialization);
    let mut open: Vec<(&str, i64)> = Vec::new();
    let mut version = 1;
    while !choices.is_over() {
        version += 1;
        let uri = choices.one_of(URIS);
        say(&mut client, uri, version, &mut choices);
        if choices.one_in(4) {
            client.wait();
        }
        open.retain(|(known, _)| *known != uri);
        open.push((uri, version));
    }
    // Files that are open elsewhere are of the same packages.
    for (uri, _) in open {
        client.notify("textDocument/didClose", &json!({ "textDocument": { "uri": uri } }));
    }
    let settings = json!({ "settings": null });
    client.notify("workspace/didChangeConfiguration", &settings);
    let text = soup::file("p", &mut Choices::new(bytes));
    let told = client.told(URIS[0], &text, version + 1);
    client.end();
    let mut fresh = Client::start(&initialization);
    fresh.notify("workspace/didChangeConfiguration", &settings);
    let expected = fresh.told(URIS[0], &text, 1);
    fresh.end();
    assert_eq!(told, expected, "of\n{text}");
}

fn initialization(choices: &mut Choices<'_>) -> Value {
    let folders = json!([{ "uri": "file:///fuzzed", "name": "m" }]);
    let encodings = json!({ "positionEncodings": ["utf-8"] });
    let capabilities = [
        json!({ "textDocument": { "diagnostic": {} } }),
        json!({ "textDocument": { "diagnostic": {}, "hover": { "contentFormat": ["markdown"] } }, "general": encodings }),
        json!({ "textDocument": { "diagnostic": {} }, "window": { "workDoneProgress": true, "showDocument": { "support": true } },
            "workspace": { "didChangeWatchedFiles": { "dynamicRegistration": true }, "diagnostics": { "refreshSupport": true } } }),
    ];
    let capabilities = capabilities[choices.below(3)].clone();
    let folders = if choices.one_in(3) { Value::Null } else { folders };
    json!({ "processId": null, "rootUri": null, "capabilities": capabilities, "workspaceFolders": folders,
        "initializationOptions": { "select": ["ALL"], "minConfidence": "low", "codeLens": choices.one_in(2) } })
}

/// One message about a file.
fn say(client: &mut Client, uri: &str, version: i64, choices: &mut Choices<'_>) {
    let document = json!({ "uri": uri });
    let params = match choices.below(16) {
        0 | 1 => {
            let text = soup::file("p", choices);
            let document =
                json!({ "uri": uri, "languageId": "go", "version": version, "text": text });
            return client.notify("textDocument/didOpen", &json!({ "textDocument": document }));
        }
        2..=5 => {
            let changes: Vec<Value> = (0..choices.below(3)).map(|_| change(choices)).collect();
            // Clients count as they like.
            let version = if choices.one_in(8) { -version } else { version };
            let document = json!({ "uri": uri, "version": version });
            let params = json!({ "textDocument": document, "contentChanges": changes });
            return client.notify("textDocument/didChange", &params);
        }
        6 => return client.notify("textDocument/didClose", &json!({ "textDocument": document })),
        7 => return client.notify("textDocument/didSave", &json!({ "textDocument": document })),
        8 => {
            let changes = json!({ "changes": [{ "uri": uri, "type": 1 + choices.below(3) }] });
            return client.notify("workspace/didChangeWatchedFiles", &changes);
        }
        9 => {
            let settings = [
                json!({}),
                json!(null),
                json!({ "select": ["nothing"] }),
                json!({ "minConfidence": "high" }),
                json!([1]),
            ];
            let settings = &settings[choices.below(5)];
            return client
                .notify("workspace/didChangeConfiguration", &json!({ "settings": settings }));
        }
        10 => {
            let id = client.asked.len() as i64 - choices.below(3) as i64;
            return client.notify("$/cancelRequest", &json!({ "id": id }));
        }
        11 => json!({ "textDocument": document, "position": place(choices) }),
        12 => {
            json!({ "textDocument": document, "range": range(choices), "context": { "diagnostics": [] } })
        }
        13 => json!({ "command": "straggler.showWitness", "arguments": [uri, "00ff"] }),
        14 => json!({ "settings": [uri, version] }),
        _ => json!({ "textDocument": document }),
    };
    let methods = [
        "textDocument/diagnostic",
        "textDocument/codeAction",
        "textDocument/hover",
        "textDocument/codeLens",
        "workspace/executeCommand",
        "initialize",
        "textDocument/completion",
    ];
    let method = match params.get("position").or(params.get("range")).or(params.get("command")) {
        Some(_) if !choices.one_in(4) => match (params.get("position"), params.get("range")) {
            (Some(_), _) => methods[2],
            (_, Some(_)) => methods[1],
            _ => methods[4],
        },
        _ => methods[choices.below(methods.len())],
    };
    client.ask(method, &params);
}

fn place(choices: &mut Choices<'_>) -> Value {
    let lines = [choices.below(256), usize::MAX >> 33, 1 << 20];
    let line = lines[if choices.one_in(16) { choices.below(3) } else { 0 }];
    json!({ "line": line, "character": choices.below(64) })
}

/// In any order, and past the end.
fn range(choices: &mut Choices<'_>) -> Value {
    json!({ "start": place(choices), "end": place(choices) })
}

fn change(choices: &mut Choices<'_>) -> Value {
    match choices.below(4) {
        0 => json!({ "text": soup::file("p", choices) }),
        1 => json!({ "range": range(choices), "text": "é𝄞\u{2028}\r\n" }),
        2 => json!({ "range": range(choices), "text": "" }),
        _ => json!({ "range": range(choices), "text": soup::statements(choices) }),
    }
}
