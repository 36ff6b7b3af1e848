//! Requests that must be refused, and many at a time.

use crate::support::{Client, folder, send, served};
use knockout_base::random::Rng;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn foreign_hosts_methods_tokens_and_paths_are_refused() {
    let home = folder();
    served(&[home.path().to_owned()], |client| {
        let Client { port, token } = client;
        let status = |text: &str| send(*port, text.as_bytes()).status;
        let host = format!("Host: 127.0.0.1:{port}\r\n");
        assert_eq!(client.get("").status, 200);
        assert_eq!(status(&format!("GET /{token}/ HTTP/1.1\r\nHOST: LOCALHOST:{port}\r\n\r\n")), 200);
        for wrong in [
            String::new(),
            "Host: evil.example\r\n".to_owned(),
            format!("Host: evil.example:{port}\r\n"),
            format!("Host: 127.0.0.1:{port}.evil.example\r\n"),
            "Host: 127.0.0.1\r\n".to_owned(),
            format!("{host}{host}"),
            format!("{host}Host: evil.example\r\n"),
            format!("{host}Origin: http://evil.example\r\n"),
            format!("{host}Origin: null\r\n"),
        ] {
            assert_eq!(status(&format!("GET /{token}/ HTTP/1.1\r\n{wrong}\r\n")), 421, "{wrong:?}");
        }
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH"] {
            assert_eq!(client.request(method, "", "").status, 405, "{method}");
        }
        for path in
            ["/", "//", "/x/", &format!("/{token}"), &format!("/{}/", &token[1..]), &format!("/{token}0/")]
        {
            assert_eq!(status(&format!("GET {path} HTTP/1.1\r\n{host}\r\n")), 403, "{path}");
        }
        for path in [
            "../../../etc/passwd",
            "..%2f..%2fetc/passwd",
            "gene/../../etc/passwd",
            "trace?file=../../etc/passwd",
            "trace?file=18446744073709551616",
            "trace?folder=/etc",
            "gene?of=/etc/passwd",
            "gene?of=..",
            "run?of=../../etc",
            "nothing",
            "%00",
            "gene?name=%00",
        ] {
            let answer = client.get(path);
            assert_eq!(answer.status, 404, "{path}: {answer:?}");
            assert!(!answer.body.contains("root:"), "{path}");
        }
        assert_eq!(client.request("GET", "", "Content-Length: 5\r\n").status, 400);
        assert_eq!(client.request("GET", "", "Transfer-Encoding: chunked\r\n").status, 400);
        assert_eq!(status(&format!("GET http://127.0.0.1:{port}/{token}/ HTTP/1.1\r\n{host}\r\n")), 400);
        assert_eq!(status("nonsense\r\n\r\n"), 400);
        assert_eq!(client.request("GET", "", &"X-Many: x\r\n".repeat(200)).status, 400);
        let head = client.request("HEAD", "", "");
        assert!(head.status == 200 && head.body.is_empty() && head.head.contains("Content-Length: "));
        for header in ["nosniff", "no-referrer", "frame-ancestors 'none'", "default-src 'none'", "no-store"] {
            assert!(head.head.contains(header), "{header} in {}", head.head);
        }
    });
}

#[test]
fn large_and_slow_requests_end_while_others_are_answered() {
    let home = folder();
    served(&[home.path().join("tiny")], |client| {
        let mut large = TcpStream::connect(("127.0.0.1", client.port)).unwrap();
        let line = format!("X: {}\r\n", "x".repeat(1_000));
        large.write_all(b"GET / HTTP/1.1\r\n").unwrap();
        // The server answers and closes before all is sent.
        for _ in 0..64 {
            if large.write_all(line.as_bytes()).is_err() {
                break;
            }
        }
        let mut answer = String::new();
        large.read_to_string(&mut answer).ok();
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431 "), "{answer}");
        // As many idle connections as there are workers: they are given up after five seconds.
        let idle: Vec<TcpStream> =
            (0..24).map(|_| TcpStream::connect(("127.0.0.1", client.port)).unwrap()).collect();
        let begin = Instant::now();
        assert_eq!(client.get("").status, 200);
        assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
        drop(idle);
    });
}

#[test]
fn a_thousand_random_requests_of_twenty_clients_are_answered() {
    let home = folder();
    let genes: Vec<String> = {
        let dataset = knockout_data::screen::Dataset::open(&home.path().join("tiny")).unwrap();
        dataset.cell.genes().genes().iter().map(|gene| gene.systematic.clone()).collect()
    };
    served(&[home.path().to_owned()], |client| {
        let work = |number: usize| {
            let mut rng = Rng::new(number as u64, "requests");
            for _ in 0..50 {
                let gene = |rng: &mut Rng| &genes[rng.below(genes.len())];
                let (a, b, c) = (gene(&mut rng).clone(), gene(&mut rng).clone(), gene(&mut rng).clone());
                let of = ["", "&of=runs/dango-0", "&of=tiny"][rng.below(3)];
                let (address, expected) = match rng.below(9) {
                    0 => (format!("gene?name={a}{of}"), 200),
                    1 => (format!("gene.json?name={a}{of}&measured=hide"), 200),
                    2 if a != b && b != c && a != c => (format!("set?genes={a},{b},{c}{of}"), 200),
                    3 => ("runs.json".to_owned(), 200),
                    4 => (format!("genes.json?q={}{of}", &a[..2]), 200),
                    5 => (format!("hits?sign=positive{of}"), 200),
                    6 => ("gene?name=NOTAGENE".to_owned(), 404),
                    7 => (format!("measured.csv?name={a}{of}"), 200),
                    _ => ("runs".to_owned(), 200),
                };
                let answer = client.get(&address);
                assert_eq!(answer.status, expected, "{address}: {}", answer.body);
            }
        };
        thread::scope(|scope| {
            let clients: Vec<_> = (0..20).map(|number| scope.spawn(move || work(number))).collect();
            for client in clients {
                client.join().unwrap();
            }
        });
    });
}
