//! How Chromium is started: every flag, and why it is there.

/// Where Chromium's proxy traffic goes and what window it draws into.
#[derive(Clone, Debug)]
pub struct LaunchOptions {
    /// The bridge's loopback address inside the jail, such as `127.0.0.1:3128`.
    pub proxy: String,
    pub display: Display,
    pub width: u32,
    pub height: u32,
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
        }
    }
}

/// In memory: the jail's /tmp is a tmpfs.
const PROFILE: &str = "/tmp/profile";

/// Flags that do not depend on anything. Chromium's own sandbox is on because nothing here turns it off.
const ALWAYS: [&str; 23] = [
    // The only way to drive it: descriptors 3 and 4, no port for anyone to find.
    "--remote-debugging-pipe",
    // One renderer per site; the headless shell does not do so by itself.
    "--site-per-process",
    // Spare renderers cost memory; pages that wait in the back-forward cache or are prerendered
    // would run outside of what the driver sees.
    "--disable-features=SpareRendererForSitePerProcess,BackForwardCache,Prerender2,Translate,MediaRouter,\
     OptimizationHints,AutofillServerCommunication",
    // Even loopback goes to the proxy, which refuses it.
    "--proxy-bypass-list=<-loopback>",
    "--disable-quic",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    // The GPU process gets a sandbox of its own only without the software rasteriser.
    "--disable-gpu",
    "--disable-software-rasterizer",
    // Without these it keeps looking up its maker's hosts.
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
    // A page that nobody looks at is still being driven.
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    // V8 sees the memory of the machine, not that of the jail: left to itself it lets garbage pile up until the
    // kernel ends the tab.
    "--js-flags=--heap-growing-percent=50",
    "--mute-audio",
    // A picture as wide as the viewport has no room for them.
    "--hide-scrollbars",
];

/// The arguments for Chromium in a jail, without a start address.
pub fn launch_flags(options: &LaunchOptions) -> Vec<String> {
    let mut flags: Vec<String> = ALWAYS.iter().map(|flag| (*flag).to_owned()).collect();
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
    flags
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jailed_chromium_is_on_a_pipe_behind_a_proxy_with_every_sandbox_on() {
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
