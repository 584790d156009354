//! Values of options that are read before the arguments are parsed.

use std::ffi::OsString;

use clap::ValueEnum;

/// The last value of an option, read before the arguments are parsed.
pub fn given(args: &[OsString], option: &str) -> Option<String> {
    let value = |(at, arg): (usize, &'_ OsString)| match arg.to_str()?.strip_prefix(option)? {
        "" => args.get(at + 1)?.to_str().map(str::to_owned),
        value => value.strip_prefix('=').map(str::to_owned),
    };
    let options = args.iter().take_while(|arg| *arg != "--").enumerate();
    options.filter_map(value).last()
}

/// The value of an option that messages about wrong arguments need.
pub fn early<T: ValueEnum + Default>(args: &[OsString], option: &str, variable: &str) -> T {
    match std::env::var(variable) {
        Ok(text) if given(args, option).is_none() => T::from_str(&text, false).unwrap_or_default(),
        _ => early_of(args, option),
    }
}

/// The value of an option that messages about wrong arguments need, whatever the environment is.
pub fn early_of<T: ValueEnum + Default>(args: &[OsString], option: &str) -> T {
    given(args, option).and_then(|text| T::from_str(&text, false).ok()).unwrap_or_default()
}

/// The server that a command line names.
pub fn server(args: &[OsString]) -> Option<String> {
    given(args, "--server")
}
