//! The client's phone: opens the signing page and sends its form, as a browser does.

use http::{Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper_util::rt::TokioIo;
use invoicing_examples::Failure;
use tokio::net::TcpStream;

/// Reads the page at an address, and signs what it shows: the first form leads to a page that shows it once more, with the
/// text that the client agrees to.
pub(crate) async fn sign(origin: &str, path: &str, name: &str, email: &str) -> Result<(), Failure> {
    let page = open(origin, path).await?;
    // The page names the document that it shows, so that no other one is signed.
    let fields = [("document", value(&page, "document")?), ("name", name), ("email", email)];
    let second_look = send(origin, path, &fields).await?;
    let shown = open(origin, &second_look).await?;
    let confirmed = [&fields[..], &[("confirmed", value(&shown, "confirmed")?)]].concat();
    send(origin, path, &confirmed).await.map(drop)
}

/// The page at an address.
async fn open(origin: &str, path: &str) -> Result<String, Failure> {
    let page = ask(origin, Request::get(path).body(String::new())?).await?;
    if page.status() != StatusCode::OK {
        return Err(format!("the signing page: {}", page.status()).into());
    }
    Ok(page.into_body())
}

/// The value of a hidden field.
fn value<'p>(page: &'p str, name: &str) -> Result<&'p str, Failure> {
    let (_, rest) = page.split_once(&format!("name=\"{name}\" value=\"")).ok_or("the page has no form")?;
    let (value, _) = rest.split_once('"').ok_or("the page has no form")?;
    Ok(value)
}

/// Sends a form. Returns the address that its answer leads to.
async fn send(origin: &str, path: &str, fields: &[(&str, &str)]) -> Result<String, Failure> {
    let form = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    let request = Request::post(path)
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .header("sec-fetch-site", "same-origin")
        .body(form)?;
    let answer = ask(origin, request).await?;
    match answer.headers().get(header::LOCATION) {
        Some(address) if answer.status() == StatusCode::SEE_OTHER => Ok(address.to_str()?.to_owned()),
        _ => Err(format!("the signature: {}", answer.status()).into()),
    }
}

async fn ask(origin: &str, mut request: Request<String>) -> Result<Response<String>, Failure> {
    let host = origin.strip_prefix("http://").ok_or("an address on loopback")?;
    request.headers_mut().insert(header::HOST, host.parse()?);
    let stream = TokioIo::new(TcpStream::connect(host).await?);
    let (mut sender, connection) = hyper::client::conn::http1::handshake(stream).await?;
    let answer = async {
        let (head, body) = sender.send_request(request.map(Full::<Bytes>::from)).await?.into_parts();
        let text = String::from_utf8(body.collect().await?.to_bytes().to_vec())?;
        drop(sender);
        Ok::<_, Failure>(Response::from_parts(head, text))
    };
    let (answer, ended) = tokio::join!(answer, connection);
    ended?;
    answer
}
