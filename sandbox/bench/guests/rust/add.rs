//! The job of the benchmark in Rust with its standard library: find "a" and "b"
//! in the invocation, add them, count the calls, answer with JSON. Built with
//! `--cfg extism` it reads and answers through the Extism kernel instead.

use std::cell::{Cell, RefCell};

thread_local! {
    static CALLS: Cell<u32> = const { Cell::new(0) };
    static HELD: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

fn number(text: &str, name: &str) -> u32 {
    let at = text.find(name).expect("an argument is missing") + name.len();
    let digits = text[at..].split(|c: char| !c.is_ascii_digit()).next();
    digits.and_then(|d| d.parse().ok()).expect("an argument is no number")
}

fn serve(input: &[u8]) -> String {
    let text = std::str::from_utf8(input).expect("the input is no UTF-8");
    let sum = number(text, "\"a\":") + number(text, "\"b\":");
    let calls = CALLS.with(|c| {
        c.set(c.get() + 1);
        c.get()
    });
    format!("{{\"status\":\"success\",\"data\":{{\"sum\":{sum},\"calls\":{calls}}}}}")
}

#[cfg(not(extism))]
mod vcp {
    use super::*;

    #[no_mangle]
    pub extern "C" fn vcp_abi_1() {}

    #[no_mangle]
    pub extern "C" fn vcp_alloc(n: u32) -> *mut u8 {
        HELD.with_borrow_mut(|held| {
            held.clear();
            held.resize(n.max(1) as usize, 0);
            held.as_mut_ptr()
        })
    }

    #[no_mangle]
    pub extern "C" fn vcp_call(_p: *const u8, n: u32) -> u64 {
        let input = HELD.take();
        let answer = serve(&input[..n as usize]).into_bytes();
        let (at, size) = (answer.as_ptr() as u64, answer.len() as u64);
        HELD.set(answer);
        at << 32 | size
    }
}

#[cfg(extism)]
mod extism {
    use super::*;

    #[link(wasm_import_module = "extism:host/env")]
    extern "C" {
        fn input_length() -> u64;
        fn input_load_u8(at: u64) -> u32;
        fn input_load_u64(at: u64) -> u64;
        fn alloc(n: u64) -> u64;
        fn store_u8(at: u64, value: u32);
        fn store_u64(at: u64, value: u64);
        fn output_set(at: u64, n: u64);
    }

    #[no_mangle]
    pub extern "C" fn add() -> u32 {
        // The kernel bounds every offset itself.
        unsafe {
            let n = input_length();
            let mut input = Vec::with_capacity(n as usize);
            for at in (0..n / 8).map(|i| i * 8) {
                input.extend_from_slice(&input_load_u64(at).to_le_bytes());
            }
            for at in n / 8 * 8..n {
                input.push(input_load_u8(at) as u8);
            }
            let answer = serve(&input).into_bytes();
            let at = alloc(answer.len() as u64);
            let mut words = answer.chunks_exact(8);
            let mut next = at;
            for word in &mut words {
                store_u64(next, u64::from_le_bytes(word.try_into().expect("eight bytes")));
                next += 8;
            }
            for byte in words.remainder() {
                store_u8(next, *byte as u32);
                next += 1;
            }
            output_set(at, answer.len() as u64);
        }
        0
    }
}
