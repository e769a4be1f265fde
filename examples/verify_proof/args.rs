//! The command line.

use std::path::PathBuf;

use lexopt::prelude::*;

pub(crate) const USAGE: &str = "\
Usage: verify_proof SIGNED.pdf DETAIL.json [options]

  SIGNED.pdf        the document of a signed quote, as it was downloaded
  DETAIL.json       the answer of GET /api/v1/quotes/:id
  --sha256 HEX      what the PDF's own hash must be: `sha256` of GET /api/v1/quotes/:id/document
  --extract FILE    write the copy that was signed, which the PDF carries
  -h, --help        this text
";

pub(crate) struct Args {
    pub(crate) pdf: PathBuf,
    pub(crate) detail: PathBuf,
    pub(crate) sha256: Option<String>,
    pub(crate) extract: Option<PathBuf>,
}

impl Args {
    /// `None` where help was asked for.
    pub(crate) fn parse() -> Result<Option<Self>, lexopt::Error> {
        let (mut files, mut sha256, mut extract) = (Vec::new(), None, None);
        let mut parser = lexopt::Parser::from_env();
        while let Some(arg) = parser.next()? {
            match arg {
                Long("sha256") => sha256 = Some(parser.value()?.string()?.to_ascii_lowercase()),
                Long("extract") => extract = Some(parser.value()?.into()),
                Short('h') | Long("help") => return Ok(None),
                Value(file) => files.push(PathBuf::from(file)),
                other => return Err(other.unexpected()),
            }
        }
        match <[PathBuf; 2]>::try_from(files) {
            Ok([pdf, detail]) => Ok(Some(Self { pdf, detail, sha256, extract })),
            Err(files) => Err(format!("two files are needed, {} given", files.len()).into()),
        }
    }
}
