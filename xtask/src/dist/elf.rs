//! Whether a program is static.

use anyhow::{Context as _, Result, bail};

const PT_INTERP: u32 = 3;

/// The dynamic loader that a 64-bit little-endian ELF program asks for; a static one asks
/// for none. See elf(5).
pub(super) fn interpreter(program: &[u8]) -> Result<Option<String>> {
    if !program.starts_with(b"\x7fELF\x02\x01") {
        bail!("not a 64-bit ELF program");
    }
    let word = |at: usize| number(program, at, 4).map(|word| word as u32);
    let table = number(program, 0x20, 8)?;
    let size = number(program, 0x36, 2)?;
    let count = number(program, 0x38, 2)?;
    for index in 0..count {
        let header = usize::try_from(table + index * size)?;
        if word(header)? == PT_INTERP {
            let start = usize::try_from(number(program, header + 8, 8)?)?;
            let length = usize::try_from(number(program, header + 32, 8)?)?;
            let path = program
                .get(start..start + length)
                .context("a short ELF file")?;
            return Ok(Some(
                String::from_utf8_lossy(path)
                    .trim_end_matches('\0')
                    .to_owned(),
            ));
        }
    }
    Ok(None)
}

fn number(program: &[u8], at: usize, width: usize) -> Result<u64> {
    let bytes = program.get(at..at + width).context("a short ELF file")?;
    Ok(bytes
        .iter()
        .rev()
        .fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loader_of_a_dynamic_program_is_found() {
        let this = std::fs::read("/proc/self/exe").expect("this program");
        let found = interpreter(&this).expect("is ELF");
        assert!(found.is_some_and(|path| path.contains("ld-linux")));
        assert!(interpreter(b"#!/bin/sh\n").is_err());
    }
}
