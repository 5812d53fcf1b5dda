//! A software bill of materials: every crate that is linked in, as SPDX 2.3 in JSON.

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

/// Writes the bill from what `cargo metadata` says of the crates that `is_linked` names.
/// `created` is in RFC 3339.
///
/// # Errors
/// The metadata has no packages.
pub(super) fn document(
    metadata: &Value,
    is_linked: impl Fn(&str) -> bool,
    name: &str,
    created: &str,
) -> Result<Value> {
    let mut packages = Vec::new();
    let mut relations = Vec::new();
    let all = metadata["packages"].as_array();
    for package in all.context("cargo metadata has packages")? {
        let field = |name: &str| package[name].as_str().unwrap_or_default();
        let (name, version) = (field("name"), field("version"));
        if !is_linked(&format!("{name} {version}")) {
            continue;
        }
        let id = format!("SPDXRef-crate-{name}-{}", version.replace('+', "-")).replace('_', "-");
        let purl = format!("pkg:cargo/{name}@{version}");
        let reference = json!({
            "referenceCategory": "PACKAGE-MANAGER",
            "referenceType": "purl",
            "referenceLocator": purl,
        });
        packages.push(json!({
            "SPDXID": id,
            "name": name,
            "versionInfo": version,
            "downloadLocation": "NOASSERTION",
            "filesAnalyzed": false,
            "licenseDeclared": licence(field("license")),
            "licenseConcluded": "NOASSERTION",
            "copyrightText": "NOASSERTION",
            // A crate of the repository is in no registry.
            "externalRefs": match package["source"].is_null() {
                true => json!([]),
                false => json!([reference]),
            },
        }));
        relations.push(json!({
            "spdxElementId": "SPDXRef-DOCUMENT",
            "relationshipType": "DESCRIBES",
            "relatedSpdxElement": id,
        }));
    }
    Ok(json!({
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": name,
        "documentNamespace": format!("urn:lazaret:sbom:{name}"),
        "creationInfo": { "created": created, "creators": ["Tool: cargo-xtask-dist"] },
        "packages": packages,
        "relationships": relations,
    }))
}

/// Old manifests separate licences by a slash, which SPDX does not know.
fn licence(declared: &str) -> String {
    match declared {
        "" => "NOASSERTION".to_owned(),
        declared => declared.replace('/', " OR ").replace("  ", " "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_linked_is_listed_with_its_licence() {
        let metadata = json!({ "packages": [
            { "name": "a_b", "version": "1.0.0+x", "license": "MIT/Apache-2.0", "source": "registry" },
            { "name": "ours", "version": "0.1.0", "license": "MIT OR Apache-2.0", "source": null },
            { "name": "other", "version": "2.0.0", "license": "MIT", "source": "registry" },
        ]});
        let bill = document(&metadata, |id| !id.starts_with("other"), "lazaret-1", "now").unwrap();
        let packages = bill["packages"].as_array().unwrap();
        let listed: Vec<_> = packages
            .iter()
            .map(|package| {
                let purl = &package["externalRefs"][0]["referenceLocator"];
                format!(
                    "{} {} {purl}",
                    package["SPDXID"], package["licenseDeclared"]
                )
            })
            .collect();
        assert_eq!(
            listed,
            [
                "\"SPDXRef-crate-a-b-1.0.0-x\" \"MIT OR Apache-2.0\" \"pkg:cargo/a_b@1.0.0+x\"",
                "\"SPDXRef-crate-ours-0.1.0\" \"MIT OR Apache-2.0\" null",
            ]
        );
        assert_eq!(bill["relationships"].as_array().unwrap().len(), 2);
    }
}
