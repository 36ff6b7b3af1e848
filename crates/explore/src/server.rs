//! Requests and answers over HTTP/1.1: read-only, bounded in size, time and number, for this machine alone.
//!
//! A page of another site can make a browser send requests here, and a name that it controls can lead to this address (DNS rebinding).
//! Therefore a request must name this address and port in its `Host`, and every address begins with a token that only the owner of the
//! terminal knows. A connection serves one request.

use crate::explorer::Explorer;
use crate::query::Query;
use crate::random;
use crate::view::{self, HttpAnswer, Reply};
use knockout_base::error::{Error, Result};
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Requests that are answered at a time; more wait in the queue of the system.
const WORKERS: usize = 24;
/// Longest head of a request.
const MOST_HEAD: usize = 16 << 10;
/// Headers of a request.
const MOST_HEADERS: usize = 64;
/// Time that a client has to send its request: a browser opens connections that it may not need.
const REQUEST_TIME: Duration = Duration::from_secs(5);
/// Time that a client has to take its answer.
const ANSWER_TIME: Duration = Duration::from_mins(1);
/// Pause between looks at the wish to end.
const PAUSE: Duration = Duration::from_millis(50);
/// Random bytes of the token.
const TOKEN_BYTES: usize = 16;

/// A server on 127.0.0.1.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    port: u16,
    token: String,
}

impl Server {
    /// Takes a port, a free one for 0, and chooses a token.
    pub fn bind(port: u16) -> Result<Self> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let failed = |error: io::Error| {
            Error::request(format!("could not listen on {address}; choose another --port")).caused_by(error)
        };
        let listener = TcpListener::bind(address).map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        let token = random::digits::<TOKEN_BYTES>()
            .ok_or_else(|| Error::failure("the system gave no random numbers for the token"))?;
        Ok(Self { listener, port, token })
    }

    /// Returns the address of the first page, with the token.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/{}/", self.port, self.token)
    }

    /// Returns the port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Answers requests until `wants_stop`.
    pub fn run(&self, explorer: &Explorer, wants_stop: &dyn Fn() -> bool) -> Result<()> {
        let ends = AtomicBool::new(false);
        thread::scope(|scope| {
            let mut started = 0;
            for _ in 0..WORKERS {
                let work = || self.work(explorer, &ends);
                // Fewer threads than wanted only make clients wait.
                started += usize::from(thread::Builder::new().spawn_scoped(scope, work).is_ok());
            }
            if started == 0 {
                return Err(Error::request(
                    "the system refused to start a thread; raise its limits (ulimit -u)",
                ));
            }
            let prepared = thread::Builder::new().spawn_scoped(scope, || explorer.prepare());
            drop(prepared);
            while !wants_stop() {
                thread::sleep(PAUSE);
            }
            ends.store(true, Ordering::SeqCst);
            // Workers that wait for a connection get one each.
            for _ in 0..WORKERS {
                drop(TcpStream::connect_timeout(&self.address(), PAUSE));
            }
            Ok(())
        })
    }

    fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    fn work(&self, explorer: &Explorer, ends: &AtomicBool) {
        while !ends.load(Ordering::SeqCst) {
            match self.listener.accept() {
                // A client that goes away is not a failure.
                Ok((stream, _)) if !ends.load(Ordering::SeqCst) => {
                    self.serve(stream, explorer).unwrap_or_default();
                }
                Ok(_) => {}
                // Too many open files, for instance: others may close some.
                Err(_) => thread::sleep(PAUSE),
            }
        }
    }

    fn serve(&self, mut stream: TcpStream, explorer: &Explorer) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let (answer, is_head) = match read_head(&mut stream) {
            Ok(None) => return Ok(()),
            Ok(Some(head)) => self.answer(&head, explorer),
            Err(refusal) => (refusal.answer(), false),
        };
        write(&mut stream, &answer, is_head)?;
        // What the client still sends is taken, so that the answer is not lost by a reset.
        stream.shutdown(std::net::Shutdown::Write)?;
        stream.set_read_timeout(Some(PAUSE))?;
        let mut rest = [0; 4096];
        for _ in 0..16 {
            if stream.read(&mut rest)? == 0 {
                break;
            }
        }
        Ok(())
    }

    /// Answers the head of a request; whether the client wants only the head of the answer.
    fn answer(&self, head: &[u8], explorer: &Explorer) -> (HttpAnswer, bool) {
        let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        let is_whole = request.parse(head).is_ok_and(|status| status.is_complete());
        let (Some(method), Some(target)) = (request.method.filter(|_| is_whole), request.path) else {
            return (Refusal::Malformed.answer(), false);
        };
        let is_head = method == "HEAD";
        match self.route(method, target, request.headers) {
            Ok((path, query)) => {
                let page = || view::answer(explorer, path, &query);
                let answer = panic::catch_unwind(AssertUnwindSafe(page));
                (answer.unwrap_or_else(|_| Refusal::Internal.answer()), is_head)
            }
            Err(refusal) => (refusal.answer(), is_head),
        }
    }

    /// Returns the address behind the token, with its query.
    fn route<'r>(
        &self,
        method: &str,
        target: &'r str,
        headers: &[httparse::Header<'_>],
    ) -> Result<(&'r str, Query), Refusal> {
        let all = |name: &str| {
            let named: Vec<&[u8]> = headers
                .iter()
                .filter(|header| header.name.eq_ignore_ascii_case(name))
                .map(|header| header.value)
                .collect();
            named
        };
        let hosts = [format!("127.0.0.1:{}", self.port), format!("localhost:{}", self.port)];
        let is_ours = |host: &[u8]| hosts.iter().any(|ours| ours.as_bytes().eq_ignore_ascii_case(host));
        let [host] = all("host")[..] else { return Err(Refusal::Host) };
        if !is_ours(host) {
            return Err(Refusal::Host);
        }
        let is_own_origin = |origin: &&[u8]| origin.strip_prefix(b"http://").is_some_and(is_ours);
        if !all("origin").iter().all(is_own_origin) {
            return Err(Refusal::Host);
        }
        if !["GET", "HEAD"].contains(&method) {
            return Err(Refusal::Method);
        }
        let has_body = all("content-length").iter().any(|length| *length != b"0")
            || !all("transfer-encoding").is_empty();
        if has_body {
            return Err(Refusal::Malformed);
        }
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut parts = path.strip_prefix('/').ok_or(Refusal::Malformed)?.splitn(2, '/');
        let token = parts.next().unwrap_or_default();
        // Hashes are compared in constant time.
        if blake3::hash(token.as_bytes()) != blake3::hash(self.token.as_bytes()) {
            return Err(Refusal::Token);
        }
        let path = parts.next().ok_or(Refusal::Token)?;
        Ok((path, Query::read(query)))
    }
}

/// Why a request is refused before it reaches a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refusal {
    Malformed,
    TooLarge,
    TooSlow,
    Method,
    Host,
    Token,
    Internal,
}

impl Refusal {
    fn answer(self) -> HttpAnswer {
        let (status, text) = match self {
            Self::Malformed => (400, "not a request that is understood"),
            Self::TooLarge => (431, "the request is too large"),
            Self::TooSlow => (408, "the request took too long"),
            Self::Method => (405, "nothing can be changed here; use GET or HEAD"),
            Self::Host => (421, "the request names another host"),
            Self::Token => {
                (403, "open the address that `knockout explore` printed; it ends with a token and a slash")
            }
            Self::Internal => (500, "this page failed; please report it with its address"),
        };
        HttpAnswer { status, ..HttpAnswer::text(format!("{text}\n")) }
    }
}

/// Reads a request up to the empty line; `None` if the client went away without one.
fn read_head(stream: &mut TcpStream) -> Result<Option<Vec<u8>>, Refusal> {
    let begin = Instant::now();
    let mut head = Vec::new();
    let mut block = [0; 2048];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        if head.len() >= MOST_HEAD {
            return Err(Refusal::TooLarge);
        }
        let left = REQUEST_TIME.checked_sub(begin.elapsed()).filter(|left| !left.is_zero());
        let Some(left) = left else { return if head.is_empty() { Ok(None) } else { Err(Refusal::TooSlow) } };
        if stream.set_read_timeout(Some(left)).is_err() {
            return Ok(None);
        }
        match stream.read(&mut block) {
            Ok(0) => return if head.is_empty() { Ok(None) } else { Err(Refusal::Malformed) },
            Ok(read) => head.extend_from_slice(&block[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if [io::ErrorKind::WouldBlock, io::ErrorKind::TimedOut].contains(&error.kind()) => {}
            Err(_) => return Ok(None),
        }
    }
    Ok(Some(head))
}

fn write(stream: &mut TcpStream, answer: &HttpAnswer, is_head: bool) -> io::Result<()> {
    let HttpAnswer { status, reply, nonce } = answer;
    let reason = match status {
        200 => "OK",
        302 => "Found",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        421 => "Misdirected Request",
        431 => "Request Header Fields Too Large",
        _ => "Internal Server Error",
    };
    let (kind, body) = match reply {
        Reply::Html(text) => ("text/html; charset=utf-8", text.as_bytes()),
        Reply::Json(text) => ("application/json", text.as_bytes()),
        Reply::File { kind, bytes, .. } => (*kind, &bytes[..]),
        Reply::Text(text) => ("text/plain; charset=utf-8", text.as_bytes()),
    };
    let script = if nonce.is_empty() { "'none'".to_owned() } else { format!("'nonce-{nonce}'") };
    let mut head = format!(
        "HTTP/1.1 {status} {reason}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\
         Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\
         X-Frame-Options: DENY\r\nCross-Origin-Resource-Policy: same-origin\r\n\
         Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; script-src {script}; \
         connect-src 'self'; img-src data: blob:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'\r\n",
        body.len()
    );
    if let Reply::File { name, .. } = reply {
        head += "Content-Disposition: attachment; filename=\"";
        head += name;
        head += "\"\r\n";
    }
    if *status == 405 {
        head += "Allow: GET, HEAD\r\n";
    }
    head += "\r\n";
    let deadline = Instant::now() + ANSWER_TIME;
    let body = if is_head { &[][..] } else { body };
    for mut rest in [head.as_bytes(), body] {
        while !rest.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            stream.set_write_timeout(Some(left))?;
            match stream.write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => rest = &rest[written..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}
