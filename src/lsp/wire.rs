//! The framing of the protocol: bytes to messages and back. Whatever comes in, reading goes on with
//! the next thing that looks like a message; only the end of the input ends it.

use std::io::{self, BufRead, Read, Write};

use lsp_server::{ErrorCode, Message};
use serde_json::{Value, json};

/// Larger messages are passed over: no editor has files of that size, and no analysis wants them.
const MAX_BODY: u64 = 64 << 20;

/// No line of a header is longer.
const MAX_HEADER_LINE: u64 = 8 << 10;

const LENGTH: &[u8] = b"content-length:";

/// Something that came in.
#[derive(Debug)]
pub enum Incoming {
    /// A message.
    Message(Message),
    /// What is none, and the answer to it.
    Garbage(Value),
}

/// The next message, or what stood in its place; `None` at the end of the input.
pub fn read(input: &mut dyn BufRead) -> io::Result<Option<Incoming>> {
    let Some(length) = read_header(input)? else { return Ok(None) };
    if length > MAX_BODY {
        let message = format!("a message of {length} bytes is too long");
        return Ok(Some(Incoming::Garbage(error(
            Value::Null,
            ErrorCode::InvalidRequest,
            &message,
        ))));
    }
    let mut body = Vec::new();
    input.take(length).read_to_end(&mut body)?;
    if (body.len() as u64) < length {
        return Ok(None);
    }
    Ok(Some(understand(&body)))
}

/// Writes a message.
pub fn write(message: &Value, out: &mut dyn Write) -> io::Result<()> {
    let body = serde_json::to_vec(message)?;
    write!(out, "Content-Length: {}\r\n\r\n", body.len())?;
    out.write_all(&body)
}

/// A message as it goes over the wire.
pub fn encode(message: &Message) -> Value {
    let mut value = serde_json::to_value(message).expect("messages are JSON");
    value["jsonrpc"] = json!("2.0");
    value
}

/// The length that a header gives. Lines that are no header are passed over, also where one follows
/// what is left of a message on the same line.
fn read_header(input: &mut dyn BufRead) -> io::Result<Option<u64>> {
    let mut length = None;
    loop {
        let mut line = Vec::new();
        input.take(MAX_HEADER_LINE).read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Ok(None);
        }
        if let (Some(length), b"\r\n" | b"\n") = (length, line.as_slice()) {
            return Ok(Some(length));
        }
        let mut places = line.windows(LENGTH.len());
        let place = places.rposition(|text| text.eq_ignore_ascii_case(LENGTH));
        if let Some(at) = place {
            let number = line[at + LENGTH.len()..].trim_ascii();
            length = std::str::from_utf8(number).ok().and_then(|text| text.parse().ok());
        }
    }
}

fn understand(body: &[u8]) -> Incoming {
    let value: Value = match serde_json::from_slice(body) {
        Ok(value) => value,
        Err(reason) => {
            let message = format!("not JSON: {reason}");
            return Incoming::Garbage(error(Value::Null, ErrorCode::ParseError, &message));
        }
    };
    let id = value.get("id").cloned();
    let is_known_id = match &id {
        None => true,
        Some(Value::Number(number)) => number.as_i64().is_some_and(|n| i32::try_from(n).is_ok()),
        Some(id) => id.is_string(),
    };
    if is_known_id && let Ok(message) = serde_json::from_value(value) {
        return Incoming::Message(message);
    }
    let id = id.filter(|id| id.is_number() || id.is_string()).unwrap_or(Value::Null);
    Incoming::Garbage(error(id, ErrorCode::InvalidRequest, "not a message of the protocol"))
}

fn error(id: Value, code: ErrorCode, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code as i32, "message": message } })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads everything, and tells methods of messages and codes of errors.
    fn check(input: &[u8], expected: &[&str]) {
        let mut input = input;
        let mut told = Vec::new();
        while let Some(incoming) = read(&mut input).expect("bytes in memory can be read") {
            told.push(match incoming {
                Incoming::Message(Message::Request(request)) => request.method,
                Incoming::Message(Message::Notification(notification)) => notification.method,
                Incoming::Message(Message::Response(response)) => response.id.to_string(),
                Incoming::Garbage(answer) => answer["error"]["code"].to_string(),
            });
        }
        assert_eq!(told, expected, "{}", String::from_utf8_lossy(input));
    }

    fn frame(body: &str) -> String {
        format!("Content-Length: {}\r\n\r\n{body}", body.len())
    }

    const A: &str = r#"{"jsonrpc":"2.0","method":"a"}"#;

    #[test]
    fn messages_and_other_headers() {
        let typed = format!("Content-Type: x\r\ncontent-length:{}\r\n\r\n{A}", A.len());
        let request = frame(r#"{"id":"x","method":"b"}"#);
        let response = frame(r#"{"id":7,"result":null}"#);
        let all = [frame(A), typed, request, response].concat();
        check(all.as_bytes(), &["a", "a", "b", "7"]);
    }

    #[test]
    fn what_is_no_message_is_answered_and_passed_over() {
        let deep = "[".repeat(100_000);
        let bodies = [
            "{",
            "\u{0}",
            "[]",
            "3",
            &deep,
            r#"{"id":null,"method":"a"}"#,
            r#"{"id":1.5,"method":"a"}"#,
            r#"{"id":99999999999,"method":"a"}"#,
            "{}",
        ];
        for body in bodies {
            let code = match serde_json::from_str::<Value>(body) {
                Ok(_) => "-32600",
                Err(_) => "-32700",
            };
            check([frame(body), frame(A)].concat().as_bytes(), &[code, "a"]);
        }
        let mut bytes = b"Content-Length: 2\r\n\r\n\xff\xfe".to_vec();
        bytes.extend(frame(A).as_bytes());
        check(&bytes, &["-32700", "a"]);
    }

    #[test]
    fn a_wrong_header_costs_no_more_than_its_message() {
        let good = frame(A);
        for bad in [
            "\r\n\r\n",
            "x",
            "Content-Length: -1\r\n\r\n",
            "Content-Length: x\r\n\r\n{}",
            "Content-Length: 99999999999999999999999\r\n\r\n",
            ": \r\n\u{0}\n",
        ] {
            check([bad, &good].concat().as_bytes(), &["a"]);
        }
        let twice = format!("Content-Length: 1\r\nContent-Length: {}\r\n\r\n{A}", A.len());
        check([&twice, good.as_str()].concat().as_bytes(), &["a", "a"]);
        let short = format!("Content-Length: 3\r\n\r\n{A}");
        check([&short, good.as_str()].concat().as_bytes(), &["-32700", "a"]);
        let huge = format!("Content-Length: 999999999999\r\n\r\n{A}");
        check([&huge, good.as_str()].concat().as_bytes(), &["-32600", "a"]);
    }

    #[test]
    fn an_input_can_end_anywhere() {
        let all = frame(A);
        for end in 0..all.len() {
            check(&all.as_bytes()[..end], &[]);
        }
    }
}
