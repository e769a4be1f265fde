//! The command line.

use std::path::PathBuf;

use lexopt::prelude::*;

pub(crate) const USAGE: &str = "\
Usage: verify_proof SIGNED.pdf DETAIL.json [options]

  SIGNED.pdf        the document of a signed quote, as it was downloaded
  DETAIL.json       the answer of GET /api/v1/quotes/:id
  --document FILE   the answer of GET /api/v1/quotes/:id/document, which has the PDF's own hash
  --sha256 HEX      that hash itself, `sha256` of that answer
  --extract FILE    write the copy that was signed, which the PDF carries
  -h, --help        this text

Exit status:
  0  the PDF and the detail belong together, and the pages shown are those of the service
  1  they do not belong together
  2  it cannot tell
  3  the copy inside belongs to the detail; the pages shown around it were not checked,
     for want of --document or --sha256, and may say anything
";

pub(crate) struct Args {
    pub(crate) pdf: PathBuf,
    pub(crate) detail: PathBuf,
    pub(crate) document: Option<PathBuf>,
    pub(crate) sha256: Option<String>,
    pub(crate) extract: Option<PathBuf>,
}

impl Args {
    /// `None` where help was asked for.
    pub(crate) fn parse() -> Result<Option<Self>, lexopt::Error> {
        let mut files = Vec::new();
        let (mut document, mut sha256, mut extract) = (None, None, None);
        let mut parser = lexopt::Parser::from_env();
        while let Some(arg) = parser.next()? {
            match arg {
                Long("document") => document = Some(parser.value()?.into()),
                Long("sha256") => sha256 = Some(parser.value()?.string()?.to_ascii_lowercase()),
                Long("extract") => extract = Some(parser.value()?.into()),
                Short('h') | Long("help") => return Ok(None),
                Value(file) => files.push(PathBuf::from(file)),
                other => return Err(other.unexpected()),
            }
        }
        match <[PathBuf; 2]>::try_from(files) {
            Ok([pdf, detail]) => Ok(Some(Self { pdf, detail, document, sha256, extract })),
            Err(files) => Err(format!("two files are needed, {} given", files.len()).into()),
        }
    }
}
