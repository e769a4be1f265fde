//! The program: see the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    invoicing_sandbox::main()
}
