//! Clients and projects.

use serde_json::{Value, json};

use super::{Company, Millis, Outcome, Refused, Seen, instant, instant_or_null, unless};
use crate::model::steps::ClientSpec;

/// Names as entered, stored and found.
const NAMES: [(&str, &str, &str); 6] = [
    ("Lefèvre", "Lefèvre", "lefevre"),
    ("  \u{feff}ÉTÉ Bâtiment\u{200b} ", "ÉTÉ Bâtiment", "ete batiment"),
    ("100% Bois_Massif", "100% Bois_Massif", "100% bois_massif"),
    ("O'Neil \"Zoé\" \\", "O'Neil \"Zoé\" \\", "o'neil \"zoe\" \\"),
    ("Ne\u{301}e 😀", "Née 😀", "nee 😀"),
    ("a", "a", "a"),
];
const EMAILS: [Option<&str>; 4] = [None, Some("jean@exemple.fr"), Some("ZOE@Exemple.FR"), Some("")];
/// Of every client, as the invoice of a business states it.
const ADDRESS: &str = "1 rue Haute";
const CITIES: [Option<(&str, &str)>; 4] = [
    None,
    Some(("Orléans", "orleans")),
    Some(("Nîmes", "nimes")),
    Some(("Lefévre-sur-Mer", "lefevre-sur-mer")),
];
const KINDS: [Option<&str>; 3] = [None, Some("PARTICULIER"), Some("PROFESSIONNEL")];
const EXTERNAL: [Option<(&str, &str)>; 5] = [
    Some(("crm-1", "crm-1")),
    Some((" crm-2\u{3164} ", "crm-2")),
    Some(("CRM-1", "CRM-1")),
    Some(("%", "%")),
    None,
];
/// Search texts, and their folded forms.
const SEARCHES: [(&str, &str); 14] = [
    ("lefevre", "lefevre"),
    ("LEFÈVRE", "lefevre"),
    ("bât", "bat"),
    ("%", "%"),
    ("_", "_"),
    ("s_m", "s_m"),
    ("exemple.fr", "exemple.fr"),
    ("É", "e"),
    ("'", "'"),
    ("\\", "\\"),
    ("😀", "😀"),
    ("frorl", "frorl"),
    ("Mer Lefevre", "mer lefevre"),
    ("exemple\u{2011}O\u{2019}NEIL", "exemple o'neil"),
];

/// A client in the company's list.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Client {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) email: Option<String>,
    city: Option<String>,
    kind: Option<String>,
    pub(crate) external: Option<String>,
    found_by: Vec<String>,
    pub(crate) created: Millis,
    pub(crate) updated: Millis,
}

/// A search text as entered, and folded.
pub(crate) fn search(n: u8) -> (&'static str, &'static str) {
    SEARCHES[usize::from(n) % SEARCHES.len()]
}

/// An `externalId` as entered and as stored; `None` if `n` is large.
pub(crate) fn external(n: u8) -> Option<(&'static str, &'static str)> {
    EXTERNAL.get(usize::from(n)).copied().flatten()
}

/// The fields in the form of a request. The service refuses name 15 and e-mail 7.
pub(crate) fn entered(spec: &ClientSpec) -> Value {
    let mut fields = json!({ "name": NAMES[usize::from(spec.name) % NAMES.len()].0, "address": ADDRESS });
    if spec.name == 15 {
        fields["name"] = "  ".into();
    }
    let email =
        if spec.email == 7 { Some("no mail") } else { EMAILS[usize::from(spec.email) % EMAILS.len()] };
    let city = CITIES[usize::from(spec.city)].map(|(city, _)| city);
    let external = external(spec.external).map(|(given, _)| given);
    let optional =
        [("email", email), ("city", city), ("type", KINDS[usize::from(spec.kind)]), ("externalId", external)];
    for (name, value) in optional {
        if let Some(value) = value {
            fields[name] = value.into();
        }
    }
    fields
}

impl Client {
    fn from(spec: &ClientSpec, id: String, created: Millis, updated: Millis) -> Result<Self, Refused> {
        if spec.name == 15 || spec.email == 7 {
            return Err(Refused::Invalid);
        }
        let (_, name, folded) = NAMES[usize::from(spec.name) % NAMES.len()];
        let email = EMAILS[usize::from(spec.email) % EMAILS.len()].filter(|email| !email.is_empty());
        let city = CITIES[usize::from(spec.city)];
        let mut found_by = vec![folded.to_owned()];
        found_by.extend(email.map(str::to_lowercase));
        found_by.extend(city.map(|(_, folded)| folded.to_owned()));
        Ok(Self {
            id,
            name: name.to_owned(),
            email: email.map(str::to_owned),
            city: city.map(|(city, _)| city.to_owned()),
            kind: KINDS[usize::from(spec.kind)].map(str::to_owned),
            external: external(spec.external).map(|(_, kept)| kept.to_owned()),
            found_by,
            created,
            updated,
        })
    }

    /// True if each word of a folded text is in name, e-mail or city.
    pub(crate) fn is_found_by(&self, folded: &str) -> bool {
        folded.split(' ').all(|word| self.found_by.iter().any(|text| text.contains(word)))
    }

    pub(crate) fn json(&self) -> Value {
        json!({
            "id": self.id, "name": self.name, "email": self.email, "phone": null, "address": ADDRESS,
            "city": self.city, "zipCode": null, "type": self.kind, "notes": null, "siren": null,
            "vatNumber": null, "electronicAddress": null, "country": null, "billingAddress": null,
            "externalId": self.external,
            "createdAt": instant(self.created), "updatedAt": instant(self.updated),
        })
    }
}

/// A project.
#[derive(Debug, Clone)]
pub(crate) struct Project {
    pub(crate) id: String,
    pub(crate) status: &'static str,
    client: Option<(String, Option<String>)>,
    quotes: Vec<String>,
    completed: Option<Millis>,
    created: Millis,
    updated: Millis,
}

impl Project {
    fn data(&self) -> Value {
        json!({
            "id": self.id, "name": "Chantier", "status": self.status,
            "clientName": self.client.as_ref().map(|client| &client.0),
            "clientEmail": self.client.as_ref().and_then(|client| client.1.as_ref()),
            "quoteIds": self.quotes, "completedAt": instant_or_null(self.completed),
        })
    }

    pub(crate) fn json(&self) -> Value {
        let mut json = self.data();
        json["createdAt"] = instant(self.created).into();
        json["updatedAt"] = instant(self.updated).into();
        json
    }
}

impl Company {
    /// Returns the place of the client, and true if it is new.
    pub(crate) fn create_client(
        &mut self,
        spec: &ClientSpec,
        seen: &Seen<'_>,
    ) -> Result<(usize, bool), Vec<Refused>> {
        let client = Client::from(spec, seen.id(), seen.now, seen.at).map_err(|refused| vec![refused])?;
        if client.external.is_some()
            && let Some(known) = self.clients.iter().position(|known| known.external == client.external)
        {
            return Ok((known, false));
        }
        self.last_stamp = seen.at;
        self.clients.push(client);
        Ok((self.clients.len() - 1, true))
    }

    pub(crate) fn change_client(
        &mut self,
        place: Option<usize>,
        spec: &ClientSpec,
        seen: &Seen<'_>,
    ) -> Outcome {
        let mut reasons = Vec::new();
        let changed = Client::from(spec, String::new(), 0, 0);
        reasons.extend(changed.as_ref().err().copied());
        let Some(place) = place else {
            reasons.push(Refused::NotFound);
            return Err(reasons);
        };
        let wanted = changed.as_ref().ok().and_then(|client| client.external.clone());
        let owner = self.clients.iter().position(|client| wanted.is_some() && client.external == wanted);
        if owner.is_some_and(|owner| owner != place) {
            reasons.push(Refused::Conflict);
        }
        unless(reasons)?;
        let old = &mut self.clients[place];
        let changed = Client::from(spec, old.id.clone(), old.created, old.updated).expect("checked above");
        if changed != *old {
            *old = Client { updated: seen.at, ..changed };
            self.last_stamp = seen.at;
        }
        Ok(())
    }

    /// Clients and quotes of another company are bad input.
    pub(crate) fn create_project(
        &mut self,
        client: Option<Result<usize, Refused>>,
        quotes: &[Option<usize>],
        seen: &Seen<'_>,
    ) -> Outcome {
        if matches!(client, Some(Err(_))) || quotes.contains(&None) {
            return Err(vec![Refused::Invalid]);
        }
        let client = client.and_then(Result::ok).map(|place| &self.clients[place]);
        let project = Project {
            id: seen.id(),
            status: "OPEN",
            client: client.map(|client| (client.name.clone(), client.email.clone())),
            quotes: quotes.iter().flatten().map(|place| self.quotes[*place].id.clone()).collect(),
            completed: None,
            created: seen.now,
            updated: seen.at,
        };
        self.projects.push(project);
        self.last_stamp = seen.at;
        Ok(())
    }

    pub(crate) fn move_project(
        &mut self,
        place: Option<usize>,
        to: &'static str,
        seen: &Seen<'_>,
    ) -> Outcome {
        let place = place.ok_or_else(|| vec![Refused::NotFound])?;
        let project = &mut self.projects[place];
        if project.status == to {
            return Ok(());
        }
        if (project.status, to) == ("COMPLETED", "CANCELED") {
            return Err(vec![Refused::Conflict]);
        }
        project.status = to;
        project.updated = seen.at;
        project.completed = (to == "COMPLETED").then_some(seen.now);
        self.last_stamp = seen.at;
        if to == "COMPLETED" {
            let data = self.projects[place].data();
            self.emit("project.completed", seen, &data);
        }
        Ok(())
    }
}
