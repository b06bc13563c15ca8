//! curl: options that are text, files to send, and files to write.

use super::interpreter::Interpreter;
use super::options::NamedCommand;
use super::partial_word::PartialWord;
use super::state::State;
use crate::intent::Access;
use std::rc::Rc;

const CURL_LONG: &[&str] = &[
    "data",
    "data-binary",
    "data-ascii",
    "data-urlencode",
    "data-raw",
    "json",
    "header",
    "write-out",
    "form",
    "form-string",
    "output",
    "dump-header",
    "cookie-jar",
    "cookie",
    "output-dir",
    "trace",
    "trace-ascii",
    "stderr",
    "etag-save",
    "hsts",
    "upload-file",
    "config",
    "cert",
    "key",
    "cacert",
    "capath",
    "netrc-file",
    "unix-socket",
    "etag-compare",
    "request",
    "user",
    "user-agent",
    "referer",
    "max-time",
    "connect-timeout",
    "retry",
    "retry-delay",
    "proxy",
    "url",
    "range",
    "limit-rate",
    "resolve",
    "interface",
    "oauth2-bearer",
];

impl Interpreter<'_> {
    pub(super) fn curl_operands(&mut self, call: &NamedCommand<'_>, state: &Rc<State>) {
        const SHORT: &str = "dFHTouAebcKEwXxmyYrCPtQzUD";
        let mut args = call.args.iter().map(PartialWord::as_str);
        while let Some(arg) = args.next() {
            let (name, value) = if let Some(long) = arg.strip_prefix("--") {
                let (name, glued) =
                    long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
                let valued = CURL_LONG.contains(&name);
                (name.to_owned(), if valued { glued.or_else(|| args.next()) } else { glued })
            } else if arg.len() > 1 && arg.starts_with('-') {
                let Some((at, letter)) =
                    arg.char_indices().skip(1).find(|(_, letter)| SHORT.contains(*letter))
                else {
                    continue;
                };
                let glued = &arg[at + 1..];
                (letter.to_string(), if glued.is_empty() { args.next() } else { Some(glued) })
            } else {
                self.judge_argument(arg, Access::Read, state);
                continue;
            };
            let Some(value) = value else { continue };
            match name.as_str() {
                "d" | "data" | "data-binary" | "data-ascii" | "data-urlencode" | "json" | "H" | "header"
                | "w" | "write-out" => {
                    if let Some(file) =
                        value.strip_prefix('@').or_else(|| value.split_once("=@").map(|(_, file)| file))
                    {
                        self.judge_path(file, Access::Read, state);
                    }
                }
                "F" | "form" => {
                    let body = value.split_once('=').map_or(value, |(_, body)| body);
                    if let Some(file) = body.strip_prefix(['@', '<']) {
                        self.judge_path(file.split(';').next().unwrap_or_default(), Access::Read, state);
                    }
                }
                "o" | "output" | "D" | "dump-header" | "c" | "cookie-jar" | "output-dir" | "trace"
                | "trace-ascii" | "stderr" | "etag-save" | "hsts" => {
                    self.judge_path(value, Access::Write, state);
                }
                "T" | "upload-file" | "K" | "config" | "E" | "cert" | "key" | "cacert" | "capath"
                | "netrc-file" | "unix-socket" | "etag-compare" => {
                    self.judge_path(value, Access::Read, state);
                }
                "b" | "cookie" if !value.contains('=') => {
                    self.judge_path(value, Access::Read, state);
                }
                _ => {}
            }
        }
    }
}
