//! Servers that the project's scripts start.

use std::{
    net::TcpListener,
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;

/// A running server.
#[derive(Debug)]
pub(crate) struct Server {
    name: &'static str,
    folder: PathBuf,
    port: u16,
    /// Where it belongs to one test, which may do to it what it likes.
    own: Option<TempDir>,
    options: String,
}

fn project() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the project's folder")
}

impl Server {
    /// The server that all tests share.
    pub(crate) fn shared(name: &'static str) -> Self {
        let folder = project().join("target").join("services").join(name);
        let port = std::fs::read_to_string(folder.join("port")).ok().and_then(|port| port.trim().parse().ok());
        let server = Self { name, folder, port: port.unwrap_or_default(), own: None, options: String::new() };
        let answers = std::net::TcpStream::connect(("127.0.0.1", server.last_port())).is_ok();
        assert!(answers, "there is no server {name}; start it with `cargo xtask services start`");
        server
    }

    /// A server of this test's own.
    pub(crate) fn own(name: &'static str) -> Self {
        Self::own_with(name, "")
    }

    /// A server of this test's own, with more options where its script takes them.
    pub(crate) fn own_with(name: &'static str, options: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        // HBase takes five ports in a row.
        let free = |port: &u16| (*port..port + 5).all(|port| TcpListener::bind(("127.0.0.1", port)).is_ok());
        let first =
            TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port").port();
        let port = (first.min(60_000)..65_000).find(free).expect("free ports");
        let server = Self { name, folder: folder.path().join(name), port, own: Some(folder), options: options.into() };
        server.start();
        server
    }

    /// Starts it, where it was ended.
    pub(crate) fn start(&self) {
        self.script(&["start", &self.folder.display().to_string(), &self.port.to_string()]);
    }

    /// Ends it as a crash would.
    pub(crate) fn kill(&self) {
        self.signal("-KILL");
    }

    /// Sends a signal to its process.
    pub(crate) fn signal(&self, signal: &str) {
        assert!(self.own.is_some(), "{} is shared", self.name);
        let process = std::fs::read_to_string(self.folder.join("pid")).expect("it was started");
        let status = Command::new("kill").args([signal, process.trim()]).status().expect("kill can be run");
        assert!(status.success());
    }

    /// Runs its script, and gives what that printed.
    pub(crate) fn script(&self, arguments: &[&str]) -> String {
        let script = project().join("tests").join("services").join(format!("{}.sh", self.name));
        let output = Command::new(&script)
            .args(arguments)
            .env("REDIS_OPTIONS", &self.options)
            .output()
            .expect("the script can be run");
        assert!(
            output.status.success(),
            "`{} {}`: {}; `cargo xtask services start` installs what is missing",
            script.display(),
            arguments.join(" "),
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// An address that it is reached by, as its script names it.
    pub(crate) fn address(&self, variable: &str) -> String {
        let environment = std::fs::read_to_string(self.folder.join("env")).expect("it was started");
        let value = environment.lines().find_map(|line| line.strip_prefix(variable)?.strip_prefix('='));
        value.unwrap_or_else(|| panic!("no {variable} in {environment}")).to_owned()
    }

    fn last_port(&self) -> u16 {
        if self.name == "hbase" { self.port + 4 } else { self.port }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.own.is_some() {
            // A process that was stopped by a signal does not end by one.
            let pid = std::fs::read_to_string(self.folder.join("pid")).unwrap_or_default();
            let _ = Command::new("kill").args(["-CONT", pid.trim()]).output();
            let script = project().join("tests").join("services").join(format!("{}.sh", self.name));
            let _ = Command::new(script).arg("stop").arg(&self.folder).output();
        }
    }
}

/// A certificate for `localhost` that vouches for itself, and its key, in files of `folder`.
pub(crate) fn certificate(folder: &Path) -> (String, String) {
    let file = |name: &str| folder.join(name).display().to_string();
    let (certificate, key) = (file("certificate.pem"), file("key.pem"));
    let output = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"])
        .args([
            "-subj",
            "/CN=localhost",
            "-addext",
            "subjectAltName=DNS:localhost",
            "-keyout",
            &key,
            "-out",
            &certificate,
        ])
        .args(["-addext", "basicConstraints=critical,CA:FALSE"])
        .output()
        .expect("openssl can be run; install it with `apt-get install openssl`");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    (certificate, key)
}
