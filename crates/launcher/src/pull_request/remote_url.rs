//! `RemoteUrl`: where a remote lies, and its address for a browser.

use super::branch_name::BranchName;
use super::forge::Forge;
use lazaret_tree::escape;

/// The URL of a remote, in one of the forms that git takes (git-push(1), "GIT URLS").
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RemoteUrl {
    shown: String,
    web: Option<Web>,
}

/// The server that a remote lies on, as a browser reaches it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Web {
    scheme: &'static str,
    host: String,
    port: Option<String>,
    /// Without `/` at either end and without `.git`.
    path: String,
}

impl RemoteUrl {
    /// Reads a URL, a path, or the form of scp: `user@host:path`.
    pub(crate) fn parse(url: &str) -> Self {
        let Some((scheme, rest)) = url.split_once("://") else {
            return Self::scp(url);
        };
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let path = path.split(['?', '#']).next().unwrap_or_default();
        let (user, place) = match authority.rsplit_once('@') {
            Some((user, place)) => (user.split(':').next(), place),
            None => (None, authority),
        };
        let (host, port) = match place.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
            _ => (place, None),
        };
        // The name of a user is a token more often than not, but not with ssh.
        let user = user.filter(|_| scheme.contains("ssh"));
        let user = user.map(|user| format!("{user}@")).unwrap_or_default();
        let web_scheme = match scheme {
            "http" => "http",
            "https" | "ssh" | "git" | "git+ssh" | "ssh+git" => "https",
            _ => return Self::local(&format!("{scheme}://{place}/{path}")),
        };
        let port = port.filter(|_| scheme.starts_with("http"));
        Self {
            shown: escape(format!("{scheme}://{user}{place}/{path}").as_bytes()),
            web: Web::new(web_scheme, host, port, path),
        }
    }

    fn scp(url: &str) -> Self {
        // Two colons name a program that reaches the remote (gitremote-helpers(7)).
        let is_scp = |(place, path): &(&str, &str)| !place.contains('/') && !path.starts_with(':');
        let Some((place, path)) = url.split_once(':').filter(is_scp) else {
            return Self::local(url);
        };
        let host = place.rsplit_once('@').map_or(place, |(_, host)| host);
        Self {
            shown: escape(url.as_bytes()),
            web: Web::new("https", host, None, path),
        }
    }

    fn local(place: &str) -> Self {
        Self {
            shown: escape(place.as_bytes()),
            web: None,
        }
    }

    /// Returns the URL for people, escaped and without a password.
    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }

    /// Returns the name of the server, in lower case; `None` if there is none.
    pub(crate) fn host(&self) -> Option<&str> {
        Some(&self.web.as_ref()?.host)
    }

    /// Returns the address at which a browser compares two branches and offers to open a request;
    /// `None` if the remote has no server.
    pub(crate) fn compare(
        &self,
        forge: Forge,
        base: &BranchName,
        branch: &BranchName,
    ) -> Option<String> {
        let Web {
            scheme,
            host,
            port,
            path,
        } = self.web.as_ref()?;
        let port = (port.as_ref())
            .map(|port| format!(":{port}"))
            .unwrap_or_default();
        let (base, branch) = (encoded(base.as_str()), encoded(branch.as_str()));
        let rest = match forge {
            Forge::GitHub | Forge::Gitea => format!("compare/{base}...{branch}"),
            Forge::GitLab => format!(
                "-/merge_requests/new?merge_request%5Bsource_branch%5D={branch}\
                 &merge_request%5Btarget_branch%5D={base}"
            ),
        };
        Some(format!("{scheme}://{host}{port}/{}/{rest}", encoded(path)))
    }
}

impl Web {
    /// Returns `None` if the host or the port is none.
    fn new(scheme: &'static str, host: &str, port: Option<&str>, path: &str) -> Option<Self> {
        let host = host.to_ascii_lowercase();
        let is_host = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
        let is_number = |port: &str| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
        let path = path.trim_matches('/');
        let path = path.strip_suffix(".git").unwrap_or(path);
        let is_good = !host.is_empty()
            && host.chars().all(is_host)
            && port.is_none_or(is_number)
            && !path.is_empty();
        is_good.then(|| Self {
            scheme,
            host,
            port: port.map(str::to_owned),
            path: path.to_owned(),
        })
    }
}

/// Percent-encodes all but `/` and what RFC 3986 calls unreserved.
fn encoded(text: &str) -> String {
    let encode = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
            char::from(byte).to_string()
        }
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(encode).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn compared(url: &str, forge: Forge, branch: &str) -> String {
        let (base, branch) = ("main".parse().unwrap(), branch.parse().unwrap());
        let address = RemoteUrl::parse(url).compare(forge, &base, &branch);
        address.unwrap_or_else(|| "none".to_owned())
    }

    #[test]
    fn every_form_of_a_url_leads_to_a_page() {
        for (url, page) in [
            (
                "https://github.com/me/shop.git",
                "https://github.com/me/shop",
            ),
            ("https://github.com/me/shop", "https://github.com/me/shop"),
            ("https://github.com/me/shop/", "https://github.com/me/shop"),
            (
                "https://tok:x@GitHub.com/me/shop",
                "https://github.com/me/shop",
            ),
            (
                "http://localhost:3000/me/shop",
                "http://localhost:3000/me/shop",
            ),
            ("https://h:8443/me/shop?token=1#x", "https://h:8443/me/shop"),
            ("git@github.com:me/shop.git", "https://github.com/me/shop"),
            ("github.com:me/shop", "https://github.com/me/shop"),
            ("git@h:/srv/shop.git", "https://h/srv/shop"),
            ("ssh://git@h:2222/me/shop.git", "https://h/me/shop"),
            ("git+ssh://git@h/me/shop", "https://h/me/shop"),
            ("git://h/me/sh op", "https://h/me/sh%20op"),
            ("https://h/me/a%20b", "https://h/me/a%2520b"),
        ] {
            let address = compared(url, Forge::GitHub, "a/b");
            assert_eq!(address, format!("{page}/compare/main...a/b"), "{url}");
        }
        for url in [
            "",
            "/srv/shop.git",
            "../shop",
            "./a:b",
            "file:///srv/shop",
            "ext::sh -c x",
            "https:///me/shop",
            "https://h/",
            "https://h:x/me",
            "https://[::1]/me/shop",
            "https://a b/me",
            "https://h\u{1b}/me",
            "C:",
        ] {
            assert_eq!(compared(url, Forge::GitHub, "a"), "none", "{url}");
        }
    }

    #[test]
    fn each_forge_has_its_page() {
        let url = "git@h:group/sub/shop.git";
        assert_eq!(
            compared(url, Forge::Gitea, "ü#&%"),
            "https://h/group/sub/shop/compare/main...%C3%BC%23%26%25"
        );
        assert_eq!(
            compared(url, Forge::GitLab, "a/b&c"),
            "https://h/group/sub/shop/-/merge_requests/new?merge_request%5Bsource_branch%5D=a/b%26c\
             &merge_request%5Btarget_branch%5D=main"
        );
    }

    #[test]
    fn no_password_is_shown() {
        for (url, shown) in [
            ("https://tok@h/me/shop", "https://h/me/shop"),
            ("https://me:p@ss@h:1/me/shop?k=v", "https://h:1/me/shop"),
            ("ssh://git:secret@h/me", "ssh://git@h/me"),
            ("ftp://u:secret@h/me", "ftp://h/me"),
            ("git@h:me/shop", "git@h:me/shop"),
            ("/srv/\u{1b}x", "/srv/\\u{1b}x"),
        ] {
            assert_eq!(RemoteUrl::parse(url).shown(), shown, "{url}");
        }
    }
}
