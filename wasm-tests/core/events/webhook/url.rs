use mcp_listen::events::webhook::{Callback, UrlError, UrlParts, UrlRules};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// The parts of a url that needs no normalisation, as `URL` gives them.
fn parts(text: &str) -> UrlParts {
    let (protocol, rest) = text.split_once("//").unwrap();
    let (rest, hash) = rest.split_once('#').unwrap_or((rest, ""));
    let authority = rest.split(['/', '?']).next().unwrap();
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    let (username, password) = user.split_once(':').unwrap_or((user, ""));
    let end = host.find(']').unwrap_or(0);
    let colon = host[end..]
        .find(':')
        .map_or(host.len(), |colon| end + colon);
    UrlParts {
        text: text.into(),
        protocol: protocol.into(),
        hostname: host[..colon].into(),
        port: host[colon..].trim_start_matches(':').into(),
        username: username.into(),
        password: password.into(),
        hash: hash.into(),
        href_bytes: text.len(),
    }
}

fn check(text: &str) -> Result<Callback, UrlError> {
    UrlRules::default().check(&parts(text))
}

#[test]
fn public_https_urls_are_accepted() {
    for text in [
        "https://hooks.example.com/a?b=c",
        "https://HOOKS.example.com".to_lowercase().as_str(),
        "https://xn--bcher-kva.example.org/",
        "https://a_b.c-d.io/",
        "https://93.184.215.14/hook",
        "https://[2606:4700::1111]/hook",
        "https://localhost.example.com/",
        "https://notlocal/"
            .replace("notlocal", "notlocal.dev")
            .as_str(),
    ] {
        assert!(check(text).is_ok(), "{text}");
    }
    let callback = check("https://hooks.example.com/a").unwrap();
    assert_eq!(&*callback.host, "hooks.example.com");
    assert!(!callback.is_allowed && !callback.is_local);
}

#[test]
fn other_urls_are_refused_with_a_reason() {
    for (text, error) in [
        ("http://a.example.com/", UrlError::NotHttps),
        ("ftp://a.example.com/", UrlError::NotHttps),
        ("https://a.example.com:8443/", UrlError::Port),
        ("https://user@a.example.com/", UrlError::Credentials),
        ("https://:secret@a.example.com/", UrlError::Credentials),
        ("https://@a.example.com/", UrlError::Credentials),
        ("https://a.example.com/#x", UrlError::Fragment),
        ("https://a.example.com/#", UrlError::Fragment),
        ("https://127.0.0.1/", UrlError::SpecialAddress),
        ("https://169.254.169.254/latest", UrlError::SpecialAddress),
        ("https://[::1]/", UrlError::SpecialAddress),
        ("https://[::ffff:7f00:1]/", UrlError::SpecialAddress),
        ("https://[fd00::1]/", UrlError::SpecialAddress),
        ("https://localhost/", UrlError::SpecialName),
        ("https://a.localhost/", UrlError::SpecialName),
        ("https://intranet/", UrlError::SpecialName),
        ("https://printer.local/", UrlError::SpecialName),
        ("https://metadata.google.internal/", UrlError::SpecialName),
        ("https://a.test/", UrlError::SpecialName),
        ("https://a.example/", UrlError::SpecialName),
        ("https://a.invalid/", UrlError::SpecialName),
        ("https://abc.onion/", UrlError::SpecialName),
        ("https://router.home.arpa/", UrlError::SpecialName),
        ("https://a.example.com./", UrlError::Malformed),
        ("https://a..example.com/", UrlError::Malformed),
        ("https://0x7f.1/", UrlError::Malformed),
        ("https://a.1/", UrlError::Malformed),
        ("https://[v1.a]/", UrlError::Malformed),
        ("https://a%2eexample.com/", UrlError::Malformed),
        ("https:///a.example.com/", UrlError::Malformed),
    ] {
        assert_eq!(check(text), Err(error), "{text}");
    }
}

#[test]
fn the_text_is_checked_beside_its_parts() {
    let plain = parts("https://a.example.com/");
    for (text, error) in [
        (" https://a.example.com/", UrlError::Malformed),
        ("https://a.example.com/\n", UrlError::Malformed),
        ("ht\ttps://a.example.com/", UrlError::Malformed),
        ("https:\\\\a.example.com/", UrlError::Malformed),
        ("https://a.example.com\\b", UrlError::Malformed),
        ("https:a.example.com/", UrlError::Malformed),
    ] {
        let url = UrlParts {
            text: text.into(),
            ..plain.clone()
        };
        assert_eq!(UrlRules::default().check(&url), Err(error), "{text:?}");
    }
}

#[test]
fn a_url_has_at_most_2048_bytes_as_given_and_as_parsed() {
    let begin = "https://a.example.com/";
    let text = |length: usize| format!("{begin}{}", "x".repeat(length - begin.len()));
    assert!(check(&text(2_048)).is_ok());
    assert_eq!(check(&text(2_049)), Err(UrlError::TooLong));
    let url = UrlParts {
        href_bytes: 2_049,
        ..parts(begin)
    };
    assert_eq!(UrlRules::default().check(&url), Err(UrlError::TooLong));
}

#[test]
fn hosts_that_check_addresses_accept_every_port() {
    let rules = UrlRules {
        any_port: true,
        ..UrlRules::default()
    };
    assert!(rules.check(&parts("https://a.example.com:8443/")).is_ok());
    let local = rules.check(&parts("https://localhost:8443/"));
    assert_eq!(local, Err(UrlError::SpecialName));
}

#[test]
fn tests_may_accept_this_machine_alone() {
    let rules = UrlRules {
        allow_insecure_localhost: true,
        ..UrlRules::default()
    };
    for text in [
        "http://localhost:8080/hook",
        "http://127.0.0.1:8080/hook",
        "http://[::1]:8080/hook",
        "https://localhost/hook",
    ] {
        assert!(rules.check(&parts(text)).unwrap().is_local, "{text}");
    }
    for text in [
        "http://a.example.com/",
        "http://10.0.0.1/",
        "http://user@localhost/",
        "https://a.localhost/",
        "ftp://localhost/",
    ] {
        assert!(rules.check(&parts(text)).is_err(), "{text}");
    }
}

#[test]
fn an_allowed_origin_needs_no_challenge_and_may_be_the_only_kind() {
    let rules = UrlRules {
        allowed_origins: vec![
            "https://a.example.com".into(),
            "https://b.example.com:8443".into(),
        ],
        ..UrlRules::default()
    };
    let is_allowed = |text| {
        rules
            .check(&parts(text))
            .map(|callback| callback.is_allowed)
    };
    assert_eq!(is_allowed("https://a.example.com/x"), Ok(true));
    assert_eq!(is_allowed("https://c.example.com/x"), Ok(false));
    assert_eq!(
        is_allowed("https://b.example.com:8443/x"),
        Err(UrlError::Port)
    );
    let strict = UrlRules {
        only_allowed_origins: true,
        ..rules.clone()
    };
    let checked = strict.check(&parts("https://c.example.com/x"));
    assert_eq!(checked, Err(UrlError::NotAllowed));
    assert!(strict.check(&parts("https://a.example.com/y")).is_ok());
}
