//! The bridge's command line. Parsing is strict, because the host writes it and a mistake must not go unnoticed.

use std::ffi::OsString;
use std::path::PathBuf;

#[derive(Debug)]
pub struct Args {
    /// The host's sockets, both dialled from here.
    pub cdp: PathBuf,
    pub egress: PathBuf,
    pub public_key: String,
    pub scope: String,
    pub target: String,
    /// How often Chromium may be started again after it died.
    pub restarts: u32,
    pub display: Option<Screen>,
    /// Where Chromium finds its proxy, on the jail's loopback.
    pub proxy_port: u16,
    pub program: OsString,
    pub program_args: Vec<OsString>,
}

/// The size of the X server's one screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Screen {
    pub width: u16,
    pub height: u16,
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ArgsError {
    #[error("unknown option {option:?}")]
    Unknown { option: String },
    #[error("option {option} is given twice")]
    Twice { option: &'static str },
    #[error("option {option} is missing or has no value")]
    Missing { option: &'static str },
    #[error("option {option} cannot be {value:?}")]
    Value { option: &'static str, value: String },
    #[error("no program after --")]
    NoProgram,
}

const DEFAULT_PROXY_PORT: u16 = 3128;

const OPTIONS: [&str; 8] =
    ["--cdp", "--egress", "--public-key", "--scope", "--target", "--restarts", "--display", "--proxy-port"];

impl Args {
    /// Takes everything after the program's own name.
    pub fn parse(mut args: impl Iterator<Item = OsString>) -> Result<Args, ArgsError> {
        let mut values: [Option<String>; OPTIONS.len()] = Default::default();
        loop {
            let arg = args.next().ok_or(ArgsError::NoProgram)?;
            if arg == "--" {
                break;
            }
            let index = OPTIONS.iter().position(|&option| arg == option);
            let index = index.ok_or_else(|| ArgsError::Unknown { option: arg.to_string_lossy().into() })?;
            let option = OPTIONS[index];
            let value = args.next().and_then(|value| value.into_string().ok());
            let value = value.filter(|value| !value.is_empty() && value != "--");
            let value = value.ok_or(ArgsError::Missing { option })?;
            if values[index].replace(value).is_some() {
                return Err(ArgsError::Twice { option });
            }
        }
        let program = args.next().ok_or(ArgsError::NoProgram)?;
        let [cdp, egress, public_key, scope, target, restarts, display, proxy_port] = values;
        Ok(Args {
            cdp: required("--cdp", cdp)?.into(),
            egress: required("--egress", egress)?.into(),
            public_key: required("--public-key", public_key)?,
            scope: required("--scope", scope)?,
            target: required("--target", target)?,
            restarts: number("--restarts", required("--restarts", restarts)?)?,
            display: display.map(screen).transpose()?,
            proxy_port: proxy_port
                .map(|port| number("--proxy-port", port))
                .transpose()?
                .unwrap_or(DEFAULT_PROXY_PORT),
            program,
            program_args: args.collect(),
        })
    }
}

fn required(option: &'static str, value: Option<String>) -> Result<String, ArgsError> {
    value.ok_or(ArgsError::Missing { option })
}

fn number<N: std::str::FromStr>(option: &'static str, value: String) -> Result<N, ArgsError> {
    value.parse().map_err(|_| ArgsError::Value { option, value })
}

fn screen(value: String) -> Result<Screen, ArgsError> {
    let size = value.split_once('x').and_then(|(width, height)| {
        Some(Screen { width: width.parse().ok()?, height: height.parse().ok()? })
    });
    size.ok_or(ArgsError::Value { option: "--display", value })
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUIRED: &str =
        "--cdp /c --egress /e --public-key K --scope default/alice --target j-1 --restarts 2";

    fn parse(line: &str) -> Result<Args, ArgsError> {
        Args::parse(line.split(' ').map(OsString::from))
    }

    #[test]
    fn a_full_line_is_read() {
        let args =
            parse(&format!("{REQUIRED} --display 1280x800 --proxy-port 9 -- /chromium --headless")).unwrap();
        assert_eq!(args.display, Some(Screen { width: 1280, height: 800 }));
        assert_eq!((args.restarts, args.proxy_port), (2, 9));
        assert_eq!((args.program, args.program_args), ("/chromium".into(), vec!["--headless".into()]));
    }

    #[test]
    fn what_may_be_left_out_has_a_default() {
        let args = parse(&format!("{REQUIRED} -- /chromium")).unwrap();
        assert_eq!((args.display, args.proxy_port, args.program_args.len()), (None, 3128, 0));
    }

    #[test]
    fn a_slip_is_an_error_that_names_it() {
        let cases = [
            ("".to_owned(), "unknown option \"\""),
            (REQUIRED.to_owned(), "no program after --"),
            (format!("{REQUIRED} --"), "no program after --"),
            (format!("{REQUIRED} --cdp /d -- /p"), "option --cdp is given twice"),
            (format!("{REQUIRED} --verbose -- /p"), "unknown option \"--verbose\""),
            (format!("{REQUIRED} --display -- /p"), "option --display is missing or has no value"),
            (format!("{REQUIRED} --display 1280 -- /p"), "option --display cannot be \"1280\""),
            (format!("{REQUIRED} --proxy-port 70000 -- /p"), "option --proxy-port cannot be \"70000\""),
            ("--cdp /c -- /p".to_owned(), "option --egress is missing or has no value"),
        ];
        for (line, message) in cases {
            assert_eq!(parse(&line).unwrap_err().to_string(), message, "{line}");
        }
    }
}
