//! A server in which something fails: it says so, and goes on.

use std::io::{self, BufReader, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::{Value, json};
use straggler::{lsp, project::LoadOptions};

use super::{LEAK, LEAKS, places, read, uri};
use crate::cli::module;
use crate::harness;

#[test]
fn a_panic_is_the_answer_to_a_request_and_the_server_lives() {
    let module = module(&[]);
    let file = module.path().join("p.go");
    let (input, mut to_server) = io::pipe().expect("a pipe");
    let (from_server, output) = io::pipe().expect("a pipe");
    // The first call is for the file that is opened, the second one for its run.
    let calls = AtomicUsize::new(0);
    let options_in = move |dir: &Path| -> LoadOptions {
        match calls.fetch_add(1, Ordering::Relaxed) {
            1 => panic!("no way"),
            _ => harness::load_options(dir),
        }
    };
    let outside = lsp::Outside {
        options_in: Arc::new(options_in),
        kept: Box::new(|| None),
        write: Box::new(|_, _| None),
    };
    let server = thread::spawn(|| lsp::serve(BufReader::new(input), output, outside));
    let mut from_server = BufReader::new(from_server);
    let mut send = |message: Value| {
        let body = message.to_string();
        write!(to_server, "Content-Length: {}\r\n\r\n{body}", body.len()).expect("a reader");
    };
    let mut answer = |id: i64| loop {
        let message = read(&mut from_server).expect("an answer");
        if message["id"] == json!(id) {
            return message;
        }
    };
    let capabilities = json!({ "textDocument": { "diagnostic": {} } });
    let params = json!({ "processId": null, "rootUri": null, "capabilities": capabilities });
    send(json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }));
    answer(1);
    let document = json!({ "uri": uri(&file), "languageId": "go", "version": 1, "text": LEAKS });
    let params = json!({ "textDocument": document });
    send(json!({ "jsonrpc": "2.0", "method": "textDocument/didOpen", "params": params }));
    let params = json!({ "textDocument": { "uri": uri(&file) } });
    let ask = |id: i64| json!({ "jsonrpc": "2.0", "id": id, "method": "textDocument/diagnostic", "params": params });
    send(ask(2));
    let failed = answer(2);
    assert_eq!(failed["error"]["code"], -32603);
    let message = failed["error"]["message"].as_str().expect("a text");
    assert!(message.starts_with("straggler failed: no way at "), "{message}");
    send(ask(3));
    let found = answer(3);
    assert_eq!(places(found["result"]["items"].as_array().expect("a list")), [LEAK]);
    send(json!({ "jsonrpc": "2.0", "id": 4, "method": "shutdown" }));
    answer(4);
    send(json!({ "jsonrpc": "2.0", "method": "exit" }));
    assert!(server.join().expect("the server ends"));
}
