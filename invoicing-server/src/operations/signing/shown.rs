//! What the page behind a signing link shows.

use chrono::NaiveDate;
use invoicing_core::{Quote, QuoteId, QuoteStatus};

use crate::Error;
use crate::documents::{ContentHash, DocumentInput, Particulars, RenderDeadline, SentCopy, StoredDocument};
use crate::operations::CompanyHandle;
use crate::operations::documents::stored;
use crate::store::rows::from_json;
use crate::store::{CompanyChange, CompanyReader, Tables};

/// A quote and the last document that was frozen of it, read in one snapshot: the document says what this says.
pub(crate) struct ShownQuote {
    /// Without its lines: few pages show them, and they may be large. They have not changed since it was sent.
    pub(crate) quote: Quote,
    pub(crate) document: StoredDocument,
    pub(crate) particulars: Particulars,
    /// The document that was signed, once the quote is.
    signed: Option<ContentHash>,
    /// The date in the company's time zone.
    pub(crate) today: NaiveDate,
}

/// A quote with its lines as it is stored. Reading it takes long where the lines are large.
pub(crate) struct UnreadQuote(Vec<u8>);

impl UnreadQuote {
    pub(crate) fn read(&self, id: QuoteId) -> Result<Quote, Error> {
        from_json(&self.0, "quote", id)
    }
}

impl ShownQuote {
    /// What the document was rendered from, but for the lines and the bytes of the copy that was signed.
    pub(crate) fn input(&self) -> DocumentInput<'_> {
        self.input_of(&self.quote)
    }

    /// The same of the quote with its lines.
    pub(crate) fn input_of<'q>(&'q self, quote: &'q Quote) -> DocumentInput<'q> {
        // The copy that was sent has the name that the signed one has.
        let file_name = &self.document.file_name;
        let sent_copy = self.signed.map(|sha256| SentCopy { file_name, sha256, bytes: &[] });
        self.particulars.input(quote, sent_copy, RenderDeadline::NONE)
    }
}

impl CompanyHandle {
    /// What the page behind a link to this quote shows, but for the lines.
    ///
    /// # Errors
    /// [`Error::DocumentUnavailable`] for a quote without a document.
    pub(crate) async fn shown_quote(&self, id: QuoteId) -> Result<ShownQuote, Error> {
        let now = self.env().now();
        let shown = self.read(async move |mut tx| {
            let (company, last_stamp) = tx.company_row().find().await?;
            let change = CompanyChange::new(company, last_stamp, now)?;
            tx.begin_snapshot().await?;
            let read = read(&mut tx, id, &change).await;
            tx.end_snapshot().await?;
            read
        });
        self.operation("signing_links.show", shown).await
    }

    /// The size of the quote's lines in bytes.
    pub(crate) async fn lines_bytes(&self, id: QuoteId) -> Result<usize, Error> {
        let bytes = self.read(async move |mut tx| tx.quotes().lines_bytes(id).await);
        self.operation("signing_links.lines", bytes).await
    }

    /// The quote with its lines.
    pub(crate) async fn unread_quote(&self, id: QuoteId) -> Result<UnreadQuote, Error> {
        let detail = self.read(async move |mut tx| tx.quotes().detail(id).await);
        self.operation("signing_links.lines", detail).await.map(UnreadQuote)
    }
}

async fn read(tx: &mut CompanyReader<'_>, id: QuoteId, change: &CompanyChange) -> Result<ShownQuote, Error> {
    let quote = tx.quotes().find_without_lines(id).await?;
    let (status, latest) = tx.documents().latest(id).await?;
    let latest = latest.filter(|_| status != QuoteStatus::Draft).ok_or(Error::DocumentUnavailable)?;
    let (document, _) = stored(change.company.id, id, latest)?;
    let particulars = tx.documents().latest_particulars(id).await?;
    let signed = match &quote.detail.signature {
        Some(_) => tx.signatures().find_proof(id).await?,
        None => None,
    };
    let signed = signed.map(|proof| proof.document_sha256.parse()).transpose();
    let signed = signed.map_err(|cause| Error::bad_row("proof", "document_sha256", id, cause))?;
    Ok(ShownQuote { quote, document, particulars, signed, today: change.today() })
}
