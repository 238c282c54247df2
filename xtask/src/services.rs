//! `cargo xtask services`: the servers that tests and examples look up in.

use std::{
    net::TcpListener,
    path::{Path, PathBuf},
};

use crate::shell::{Failure, project, run};

/// The servers, each with a script in `tests/services/`, and the ports in a row that it takes.
const SERVICES: [(&str, u16); 4] = [("redis", 1), ("mysql", 1), ("postgres", 1), ("hbase", 5)];

/// What is to be done with them.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    /// Install what is missing, and start those that do not run.
    Start,
    /// End those that run; their data stays in target/services.
    Stop,
}

/// Does it.
pub(crate) fn run_one(arguments: &Arguments) -> Result<(), Failure> {
    match arguments.action {
        Action::Start => start(),
        Action::Stop => stop(),
    }
}

/// Installs what is missing and starts the servers; those that run already are left alone.
fn start() -> Result<(), Failure> {
    for (name, ports) in SERVICES {
        let script = script(name);
        run(&script, &["install"])?;
        let folder = folder(name);
        // A server keeps its port, so that what knows it finds it again.
        let port = std::fs::read_to_string(folder.join("port")).ok().and_then(|port| port.trim().parse().ok());
        let runs = folder.join("pid").exists();
        let port = match port {
            Some(port) if runs || is_free(port, ports) => port,
            _ => free_port(ports)?,
        };
        eprintln!("starting {name} on port {port} of 127.0.0.1");
        run(&script, &["start", &folder.display().to_string(), &port.to_string()])?;
    }
    Ok(())
}

/// Ends the servers.
fn stop() -> Result<(), Failure> {
    for (name, _) in SERVICES {
        run(&script(name), &["stop", &folder(name).display().to_string()])?;
    }
    Ok(())
}

/// Servers that run, which are ended when it is dropped.
pub(crate) struct Running;

impl Running {
    /// Starts them.
    pub(crate) fn start() -> Result<Self, Failure> {
        let running = Self;
        start()?;
        Ok(running)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Err(failure) = stop() {
            eprintln!("the servers could not be ended: {failure}; try `cargo xtask services stop`");
        }
    }
}

fn script(name: &str) -> String {
    Path::new("tests").join("services").join(format!("{name}.sh")).display().to_string()
}

fn folder(name: &str) -> PathBuf {
    project().join("target").join("services").join(name)
}

fn is_free(port: u16, ports: u16) -> bool {
    (port..port.saturating_add(ports)).all(|port| TcpListener::bind(("127.0.0.1", port)).is_ok())
}

/// The first of so many free ports in a row.
fn free_port(ports: u16) -> Result<u16, Failure> {
    let free = (17_380..32_000).step_by(10).find(|port| is_free(*port, ports));
    free.ok_or_else(|| Failure::Unexpected("no free ports from 17380 on; end what takes them".into()))
}
