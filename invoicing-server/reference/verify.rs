//! Whether a delivery is genuine, with the crate `webhook-verify`. Exits with 0 where it is, else with 1:
//!
//! ```console
//! $ INVOICING_WEBHOOK_SECRET=whsec_… SIGNATURE='t=…,v1=…' cargo run --example reference_verify < body
//! ```

use std::io::{self, Read};
use std::{env, error::Error};

// region verify
use webhook_verify::{SecretError, Verifier};

/// Takes the whole secret with `whsec_`, the signature header, and the body as it came.
fn verify(secret: &str, signature: &str, body: &[u8]) -> Result<bool, SecretError> {
    let verifier = Verifier::new(secret)?; // once, at the start of a receiver
    Ok(verifier.verify_now(signature, body).is_ok())
}
// endregion

fn main() -> Result<(), Box<dyn Error>> {
    let mut body = Vec::new();
    io::stdin().read_to_end(&mut body)?;
    let genuine = verify(&env::var("INVOICING_WEBHOOK_SECRET")?, &env::var("SIGNATURE")?, &body)?;
    if genuine { Ok(()) } else { Err("the delivery is not genuine".into()) }
}
