//! The attribute that mounts a test once per database. Reads tokens by itself, so that no test waits for a parser to
//! be built.

use proc_macro::{Delimiter, Ident, TokenStream, TokenTree};

/// Makes two tests of a function, `name::sqlite` and `name::postgres`.
///
/// The function takes the database, `async fn name(db: Database)`, and returns nothing. If it is `async`, each test runs
/// it on a runtime of its own with as many threads as there are cores, or `#[on_each_database(worker_threads = 4)]`.
#[proc_macro_attribute]
pub fn on_each_database(options: TokenStream, function: TokenStream) -> TokenStream {
    mount(options, function, &[("sqlite", "Sqlite"), ("postgres", "Postgres")])
}

/// As [`macro@on_each_database`], for what only a server can do: makes `name::postgres` alone.
#[proc_macro_attribute]
pub fn on_postgres(options: TokenStream, function: TokenStream) -> TokenStream {
    mount(options, function, &[("postgres", "Postgres")])
}

fn mount(options: TokenStream, function: TokenStream, databases: &[(&str, &str)]) -> TokenStream {
    let options = Options::read(options);
    let tests = options.and_then(|options| Function::read(function.clone())?.tests(&options, databases));
    match tests {
        Ok(tests) => [function, tests].into_iter().collect(),
        Err(message) => format!("compile_error!({message:?});").parse().expect("Rust"),
    }
}

/// `worker_threads = 4`, or nothing.
struct Options {
    worker_threads: Option<String>,
}

impl Options {
    fn read(options: TokenStream) -> Result<Self, String> {
        let tokens: Vec<String> = options.into_iter().map(|token| token.to_string()).collect();
        let tokens: Vec<&str> = tokens.iter().map(String::as_str).collect();
        match tokens[..] {
            [] => Ok(Self { worker_threads: None }),
            ["worker_threads", "=", count] => Ok(Self { worker_threads: Some(count.to_owned()) }),
            _ => Err("the only option is `worker_threads = 4`".into()),
        }
    }
}

/// The parts of the function that matter.
struct Function {
    name: Ident,
    is_async: bool,
    /// Its `cfg` conditions, which hold for its tests too.
    conditions: TokenStream,
}

impl Function {
    fn read(function: TokenStream) -> Result<Self, String> {
        let mut tokens = function.into_iter().peekable();
        let (mut conditions, mut is_async) = (TokenStream::new(), false);
        loop {
            match tokens.next() {
                Some(TokenTree::Punct(mark)) if mark.as_char() == '#' => {
                    let attribute = tokens.next().ok_or("an attribute ends early")?;
                    if is_condition(&attribute) {
                        conditions.extend([TokenTree::Punct(mark), attribute]);
                    }
                }
                Some(TokenTree::Ident(word)) if word.to_string() == "async" => is_async = true,
                Some(TokenTree::Ident(word)) if word.to_string() == "fn" => break,
                Some(_) => {}
                None => return Err("only a function can be a test".into()),
            }
        }
        let Some(TokenTree::Ident(name)) = tokens.next() else { return Err("a function has a name".into()) };
        match (tokens.next(), tokens.next()) {
            (Some(TokenTree::Group(arguments)), Some(TokenTree::Group(body)))
                if !arguments.stream().is_empty() && body.delimiter() == Delimiter::Brace =>
            {
                Ok(Self { name, is_async, conditions })
            }
            _ => Err("a test takes a `Database` and returns nothing".into()),
        }
    }

    fn tests(&self, options: &Options, databases: &[(&str, &str)]) -> Result<TokenStream, String> {
        let Self { name, is_async, conditions } = self;
        let run = match (is_async, &options.worker_threads) {
            (true, None) => format!("run(None, super::{name})"),
            (true, Some(count)) => format!("run(Some({count}), super::{name})"),
            (false, None) => format!("run_sync(super::{name})"),
            (false, Some(_)) => return Err("only an async function has a runtime with threads".into()),
        };
        let test = |(test, database): &(&str, &str)| {
            format!("#[test] fn {test}() {{ ::invoicing_test_databases::Database::{database}.{run} }}")
        };
        let tests = databases.iter().map(test).collect::<Vec<_>>().join(" ");
        let module = format!("{conditions} mod {name} {{ {tests} }}");
        module.parse().map_err(|error| format!("{module}: {error}"))
    }
}

/// Whether an attribute's brackets hold `cfg(…)`.
fn is_condition(attribute: &TokenTree) -> bool {
    let TokenTree::Group(group) = attribute else { return false };
    let first = group.stream().into_iter().next();
    matches!(first, Some(TokenTree::Ident(name)) if name.to_string() == "cfg")
}
