//! Chromium's launch flags, each with its reason.

/// The proxy and the window of a Chromium.
#[derive(Clone, Debug)]
pub struct LaunchOptions {
    /// The bridge's loopback address inside the jail, such as `127.0.0.1:3128`.
    pub proxy: String,
    pub display: Display,
    pub width: u32,
    pub height: u32,
    /// The public key of the jail's own certificate authority, as base64 of its SHA-256 digest. Chromium accepts
    /// certificates that it signed; the egress proxy issues them for sealed origins only.
    pub authority_spki: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Display {
    /// No window; Chromium's headless shell.
    #[default]
    Headless,
    /// A window on the X server that `DISPLAY` names.
    X11,
}

impl Default for LaunchOptions {
    fn default() -> LaunchOptions {
        LaunchOptions {
            proxy: "127.0.0.1:3128".to_owned(),
            display: Display::Headless,
            width: 1280,
            height: 800,
            authority_spki: None,
        }
    }
}

/// In memory: the jail's /tmp is a tmpfs.
const PROFILE: &str = "/tmp/profile";

/// Flags for every Chromium. None of them disables Chromium's own sandbox.
const FIXED_FLAGS: [&str; 25] = [
    // CDP over descriptors 3 and 4; no port is open.
    "--remote-debugging-pipe",
    // Site isolation; the headless shell has it off by default.
    "--site-per-process",
    // Spare renderers cost memory. Pages in the back-forward cache, or prerendered, would run unobserved. FedCM's
    // requests are the browser's own: no `Fetch` pauses them.
    "--disable-features=SpareRendererForSitePerProcess,BackForwardCache,Prerender2,Translate,MediaRouter,\
     OptimizationHints,AutofillServerCommunication,FedCm",
    // Prefetches of speculation rules are paused by no `Fetch`, and no switch disables them. No place in their queue does.
    "--enable-features=PrefetchSchedulerTesting:kPrefetchSchedulerTestingActiveSetSizeLimitForBase/0/\
     kPrefetchSchedulerTestingActiveSetSizeLimitForBurst/0",
    // Loopback goes to the proxy as well, which refuses it.
    "--proxy-bypass-list=<-loopback>",
    "--disable-quic",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    // The GPU process is sandboxed only without the software rasterizer.
    "--disable-gpu",
    "--disable-software-rasterizer",
    // Without these, Chromium contacts hosts of its vendor.
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-sync",
    "--metrics-recording-only",
    // No crash dumps: they hold page content.
    "--disable-breakpad",
    // Background pages are driven as well.
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    // V8 sees the memory of the machine, not of the jail, and would let garbage grow until the kernel kills the tab.
    "--js-flags=--heap-growing-percent=50",
    // Selected text is in no clipboard, and a middle click pastes none: an agent could copy what it may not read.
    "--blink-settings=middleClickPasteAllowed=false,selectionClipboardBufferAvailable=false",
    "--mute-audio",
    // A screenshot as wide as the viewport has no room for them.
    "--hide-scrollbars",
];

/// The arguments for Chromium in a jail, without a start address.
pub fn launch_flags(options: &LaunchOptions) -> Vec<String> {
    let mut flags: Vec<String> = FIXED_FLAGS.iter().map(|flag| (*flag).to_owned()).collect();
    match options.display {
        Display::Headless => {
            flags.push("--headless".to_owned());
        }
        Display::X11 => {
            flags.push("--ozone-platform=x11".to_owned());
            flags.push("--password-store=basic".to_owned());
            flags.push("--window-position=0,0".to_owned());
        }
    }
    flags.push(format!("--user-data-dir={PROFILE}"));
    flags.push(format!("--proxy-server=http://{}", options.proxy));
    flags.push(format!("--window-size={},{}", options.width, options.height));
    flags.extend(
        options.authority_spki.iter().map(|spki| format!("--ignore-certificate-errors-spki-list={spki}")),
    );
    flags
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jailed_chromium_uses_a_pipe_and_a_proxy_and_keeps_its_sandbox() {
        for display in [Display::Headless, Display::X11] {
            let flags = launch_flags(&LaunchOptions { display, ..LaunchOptions::default() });
            for needed in [
                "--remote-debugging-pipe",
                "--site-per-process",
                "--proxy-server=http://127.0.0.1:3128",
                "--proxy-bypass-list=<-loopback>",
                "--user-data-dir=/tmp/profile",
                "--window-size=1280,800",
            ] {
                assert!(flags.iter().any(|flag| flag == needed), "{needed}");
            }
            assert_eq!(flags.iter().any(|flag| flag == "--headless"), display == Display::Headless);
            assert_eq!(flags.iter().filter(|flag| flag.starts_with("--disable-features=")).count(), 1);
            let weakened = ["sandbox", "disable-web-security", "debugging-port", "ignore-certificate"];
            assert!(!flags.iter().any(|flag| weakened.iter().any(|word| flag.contains(word))));
            assert!(flags.iter().all(|flag| flag.starts_with("--") && !flag.contains(' ')));
        }
    }
}
