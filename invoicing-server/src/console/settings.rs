//! The settings of the console: its addresses, and its look.

use bytes::Bytes;
use url::Url;

use super::client_address::TrustedProxies;
use crate::config::SettingError;

/// Settings of the console.
///
/// ```
/// use invoicing_server::{ConsoleSettings, Theme};
///
/// let settings = ConsoleSettings::at("https://app.example.com/settings")
///     .trusted_origins(["https://admin.example.com"])
///     .theme(Theme::default().name("Chantier").accent("#8a3ffc", "#be95ff"));
/// # _ = settings;
/// ```
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConsoleSettings {
    /// The address at which browsers reach the console, with the prefix that the host strips:
    /// `https://app.example.com/settings`. Links begin with its path, and forms must come from its
    /// origin. Behind a proxy it is the address in the browser.
    pub base_url: String,
    /// The beginning of links to the signing page, without `/sign/` and the token:
    /// `https://sign.example.com`. The base URL, unless the host has mounted the signing page
    /// elsewhere.
    pub signing_base: Option<String>,
    /// Further origins whose forms are accepted, such as `https://admin.example.com`, from browsers
    /// that send no `Sec-Fetch-Site`.
    pub trusted_origins: Vec<String>,
    /// The header in which proxies pass the address of their peer, such as `X-Forwarded-For`; none
    /// by default. The address of a signer is then the last one in it that is not of a [trusted
    /// proxy](Self::trusted_proxies).
    pub client_address_header: Option<String>,
    /// Addresses and networks of the proxies whose header is believed, such as `10.0.0.0/8`.
    pub trusted_proxies: Vec<String>,
    /// Origins that may show the console in a frame; none by default. Each is a source of the
    /// directive `frame-ancestors`.
    pub frame_ancestors: Vec<String>,
    /// Name, logo and colours.
    pub theme: Theme,
}

impl ConsoleSettings {
    /// The console at this address, with the default look.
    pub fn at(base_url: impl Into<String>) -> Self {
        Self {
            base_url: base_url.into(),
            signing_base: None,
            trusted_origins: Vec::new(),
            client_address_header: None,
            trusted_proxies: Vec::new(),
            frame_ancestors: Vec::new(),
            theme: Theme::default(),
        }
    }

    /// Sets [`signing_base`](Self#structfield.signing_base).
    pub fn signing_base(self, url: impl Into<String>) -> Self {
        Self { signing_base: Some(url.into()), ..self }
    }

    /// Sets [`trusted_origins`](Self#structfield.trusted_origins).
    pub fn trusted_origins(self, origins: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { trusted_origins: origins.into_iter().map(Into::into).collect(), ..self }
    }

    /// Sets [`client_address_header`](Self#structfield.client_address_header) and
    /// [`trusted_proxies`](Self#structfield.trusted_proxies).
    pub fn client_address(
        self,
        header: impl Into<String>,
        trusted_proxies: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        let trusted_proxies = trusted_proxies.into_iter().map(Into::into).collect();
        Self { client_address_header: Some(header.into()), trusted_proxies, ..self }
    }

    /// Sets [`frame_ancestors`](Self#structfield.frame_ancestors).
    pub fn frame_ancestors(self, origins: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { frame_ancestors: origins.into_iter().map(Into::into).collect(), ..self }
    }

    /// Sets [`theme`](Self#structfield.theme).
    pub fn theme(self, theme: Theme) -> Self {
        Self { theme, ..self }
    }

    /// Origin and path of the base URL, the path without a slash at its end.
    pub(super) fn place(&self) -> Result<MountPoint, SettingError> {
        MountPoint::of("console.baseUrl", &self.base_url)
    }

    /// The beginning of links to the signing page, without a slash at the end.
    pub(super) fn signing_address(&self) -> Result<String, SettingError> {
        let base = self.signing_base.as_ref().unwrap_or(&self.base_url);
        let MountPoint { origin, path } = MountPoint::of("console.signingBase", base)?;
        Ok(format!("{origin}{path}"))
    }

    /// The proxies whose header is believed.
    pub(super) fn proxies(&self) -> Result<Option<TrustedProxies>, SettingError> {
        TrustedProxies::of(self.client_address_header.as_deref(), &self.trusted_proxies)
    }

    /// Checks the settings that [`place`](Self::place) does not check.
    pub(super) fn check(&self) -> Result<(), SettingError> {
        for text in &self.trusted_origins {
            let is_origin = Url::parse(text).is_ok_and(|url| origin(&url).as_deref() == Some(text.as_str()));
            if !is_origin {
                let rule = "must be origins without a path, such as https://admin.example.com";
                return Err(SettingError::new("console.trustedOrigins", rule));
            }
        }
        for source in &self.frame_ancestors {
            // A separator would begin another source or directive.
            if source.is_empty()
                || !source.bytes().all(|byte| byte.is_ascii_graphic() && !b";,".contains(&byte))
            {
                let rule = "must be sources such as https://admin.example.com";
                return Err(SettingError::new("console.frameAncestors", rule));
            }
        }
        self.theme.check()
    }
}

/// Scheme, host and port, as browsers write them in `Origin`. `None` for another scheme and for a
/// URL with a user.
fn origin(url: &Url) -> Option<String> {
    let is_web = matches!(url.scheme(), "http" | "https");
    let has_user = !url.username().is_empty() || url.password().is_some();
    (is_web && !has_user).then(|| url.origin().ascii_serialization())
}

/// The address at which browsers reach the console.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MountPoint {
    pub(super) origin: String,
    /// Empty, or begins with a slash and ends without one.
    pub(super) path: String,
}

impl MountPoint {
    /// Origin and path of the URL in a setting.
    fn of(setting: &'static str, url: &str) -> Result<Self, SettingError> {
        let rule = "must be an http or https URL without a query, such as https://app.example.com/settings";
        let wrong = || SettingError::new(setting, rule);
        let url = Url::parse(url).map_err(|_| wrong())?;
        let path = url.path().trim_end_matches('/');
        // The path stands in links and in a header, so it has only plain characters.
        let is_plain = path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte));
        if url.query().is_some() || url.fragment().is_some() || !is_plain || path.contains("//") {
            return Err(wrong());
        }
        let origin = origin(&url).ok_or_else(wrong)?;
        Ok(Self { origin, path: path.to_owned() })
    }
}

/// Name, logo and colours of the console. Colours are texts of CSS such as `#0b5cad`.
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Theme {
    /// Shown in the bar and in titles.
    pub name: String,
    /// Shown before the name.
    pub logo: Option<ThemeLogo>,
    /// Colour of links and buttons, on a light ground.
    pub accent: String,
    /// The same on a dark ground.
    pub accent_dark: String,
}

/// A picture as it is served.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ThemeLogo {
    /// `image/svg+xml`, `image/png` or another type of image.
    pub content_type: String,
    /// The file.
    pub bytes: Bytes,
}

impl Default for Theme {
    fn default() -> Self {
        Self {
            name: "Invoicing".to_owned(),
            logo: None,
            accent: "#0b5cad".to_owned(),
            accent_dark: "#7ab8ff".to_owned(),
        }
    }
}

impl Theme {
    /// Sets [`name`](Self#structfield.name).
    pub fn name(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// Sets [`logo`](Self#structfield.logo).
    pub fn logo(self, content_type: impl Into<String>, bytes: impl Into<Bytes>) -> Self {
        Self { logo: Some(ThemeLogo { content_type: content_type.into(), bytes: bytes.into() }), ..self }
    }

    /// Sets the accent for a light and a dark ground. Text on it has the colour of the ground.
    pub fn accent(self, light: impl Into<String>, dark: impl Into<String>) -> Self {
        Self { accent: light.into(), accent_dark: dark.into(), ..self }
    }

    fn check(&self) -> Result<(), SettingError> {
        // A colour that could end its declaration would add others to the style, so it is refused.
        let is_color = |text: &str| {
            !text.is_empty()
                && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"#(), .%/-".contains(&byte))
        };
        if !is_color(&self.accent) || !is_color(&self.accent_dark) {
            return Err(SettingError::new(
                "console.theme.accent",
                "must be a colour of CSS, such as #0b5cad",
            ));
        }
        let is_image = |logo: &ThemeLogo| {
            logo.content_type.starts_with("image/") && http::HeaderValue::from_str(&logo.content_type).is_ok()
        };
        if !self.logo.as_ref().is_none_or(is_image) {
            return Err(SettingError::new(
                "console.theme.logo",
                "must have a type of image, such as image/png",
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(base_url: &str) -> Option<(String, String)> {
        ConsoleSettings::at(base_url).place().ok().map(|place| (place.origin, place.path))
    }

    #[test]
    fn the_base_url_has_an_origin_and_a_path() {
        for (base_url, origin, path) in [
            ("https://app.example.com", "https://app.example.com", ""),
            ("https://App.Example.com:443/", "https://app.example.com", ""),
            ("http://127.0.0.1:8080/x", "http://127.0.0.1:8080", "/x"),
            ("https://app.example.com/x/y/", "https://app.example.com", "/x/y"),
            ("http://[::1]:80/x", "http://[::1]", "/x"),
        ] {
            assert_eq!(place(base_url), Some((origin.to_owned(), path.to_owned())), "{base_url}");
        }
        for wrong in [
            "",
            "/x",
            "app.example.com",
            "ftp://a/x",
            "https://u:p@a/x",
            "https://a/x?y",
            "https://a/x//y",
            "https://a/%22",
        ] {
            assert_eq!(place(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_signing_page_is_below_the_base_url_or_where_the_host_says() {
        let settings = ConsoleSettings::at("https://a/x/");
        assert_eq!(settings.signing_address().unwrap(), "https://a/x");
        let elsewhere = |base: &str| settings.clone().signing_base(base).signing_address();
        assert_eq!(elsewhere("https://sign.example/").unwrap(), "https://sign.example");
        for wrong in ["", "/sign", "javascript:alert(1)", "https://a/?x"] {
            assert!(elsewhere(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn settings_that_would_end_a_header_or_a_style_are_refused() {
        let settings = || ConsoleSettings::at("https://a");
        assert!(settings().trusted_origins(["https://b", "http://c:8080"]).check().is_ok());
        assert!(settings().frame_ancestors(["https://b", "'self'"]).check().is_ok());
        for origin in ["b", "https://b/", "https://b/x", "https://B"] {
            assert!(settings().trusted_origins([origin]).check().is_err(), "{origin}");
        }
        for source in ["", "https://b; script-src *", "https://b, c", "a b"] {
            assert!(settings().frame_ancestors([source]).check().is_err(), "{source}");
        }
        for color in ["", "red;}", "url('x')", "red}"] {
            assert!(settings().theme(Theme::default().accent(color, "red")).check().is_err(), "{color}");
        }
        assert!(settings().theme(Theme::default().logo("text/html", "")).check().is_err());
    }
}
