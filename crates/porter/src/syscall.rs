//! Raw system calls: the only unsafe code of lazaret.
//!
//! Two kinds. Calls that no safe wrapper offers (waiting for blocked signals, `fork`, `execve`,
//! who sent a message, closing every descriptor), and the probes' calls, which hand the kernel pointers and
//! descriptors that can't be valid: EPERM or ENOSYS tells that a filter answered, any
//! other error that the call reached the kernel. So a probe never has an effect, whether
//! the control that it tests is there or not (bubblewrap's `try-syscall` does the same).

#![expect(
    unsafe_code,
    reason = "system calls without a safe wrapper; tidy keeps unsafe inside this file"
)]

use std::ffi::{CString, c_int, c_long};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};
use std::ptr;
use std::time::Duration;

/// A pointer that no process has mapped: the kernel half of the address space.
pub(crate) const BAD_POINTER: c_long = -4096;

/// A signal that was waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Received {
    /// Its number.
    pub(crate) signal: c_int,
    /// Who sent it, as a pid of this namespace; 0 for the kernel and for processes outside.
    pub(crate) sender: i32,
    /// The value that came with it; `None` for a signal that carries none.
    pub(crate) value: Option<u64>,
}

/// The signals that are waited for instead of delivered.
#[derive(Debug)]
pub(crate) struct BlockedSignals(());

impl BlockedSignals {
    /// Blocks every signal that can be blocked, for this thread and those it starts.
    pub(crate) fn all() -> io::Result<Self> {
        // SAFETY: the set is a local that sigfillset initialises before it is read.
        let outcome = unsafe {
            let mut set = MaybeUninit::uninit();
            libc::sigfillset(set.as_mut_ptr());
            libc::sigprocmask(libc::SIG_SETMASK, set.as_ptr(), ptr::null_mut())
        };
        zero(outcome).map(|()| Self(()))
    }

    /// Waits for any signal; `None` when `timeout` is over or another signal interrupted.
    pub(crate) fn wait(&self, timeout: Duration) -> io::Result<Option<Received>> {
        let limit = libc::timespec {
            tv_sec: timeout.as_secs().try_into().unwrap_or(libc::time_t::MAX),
            tv_nsec: timeout.subsec_nanos().into(),
        };
        let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
        // SAFETY: all three point to locals that outlive the call; a zeroed siginfo_t is valid.
        let signal = unsafe {
            let mut set = MaybeUninit::uninit();
            libc::sigfillset(set.as_mut_ptr());
            libc::sigtimedwait(set.as_ptr(), info.as_mut_ptr(), &raw const limit)
        };
        if signal < 0 {
            let error = io::Error::last_os_error();
            return match error.raw_os_error() {
                Some(libc::EAGAIN | libc::EINTR) => Ok(None),
                _ => Err(error),
            };
        }
        // SAFETY: the call has filled it in; every signal that is not a timer's or a
        // fault's has a sender there, and the union is plain numbers for those as well.
        // A queued one has a value beside it.
        let (sender, value) = unsafe {
            let info = info.assume_init();
            let queued = info.si_code == libc::SI_QUEUE;
            (info.si_pid(), queued.then(|| info.si_value().sival_ptr))
        };
        Ok(Some(Received {
            signal,
            sender,
            value: value.map(|value| value as u64),
        }))
    }
}

/// Gives every signal its default action and lets it through.
///
/// Rust ignores SIGPIPE at start, and an ignored signal stays ignored across `execve`:
/// without this, `yes | head` inside would never end.
pub(crate) fn reset_signals() {
    for signal in 1..=libc::SIGRTMAX() {
        // SAFETY: SIG_DFL is a valid action for every signal; refusals (SIGKILL) are harmless.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    // SAFETY: the set is a local that sigemptyset initialises before it is read.
    unsafe {
        let mut set = MaybeUninit::uninit();
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, set.as_ptr(), ptr::null_mut());
    }
}

/// Sends a signal with a value to a process (`man 3 sigqueue`).
///
/// # Errors
/// `EAGAIN` when the receiver has as many signals queued as it may.
pub(crate) fn queue_signal(pid: i32, signal: c_int, value: u64) -> io::Result<()> {
    let value = usize::try_from(value).unwrap_or(usize::MAX);
    let value = libc::sigval {
        sival_ptr: ptr::without_provenance_mut(value),
    };
    // SAFETY: the value is a number, which neither side uses as an address.
    zero(unsafe { libc::sigqueue(pid, signal, value) })
}

/// Sends a signal to a process. (rustix knows no real-time signals.)
pub(crate) fn signal_process(pid: i32, signal: c_int) -> io::Result<()> {
    if pid <= 0 {
        // Those are groups, or everyone.
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: no memory is involved.
    zero(unsafe { libc::kill(pid, signal) })
}

/// Sends a signal to every process that we may signal, except ourselves (and PID 1).
///
/// With signal 0 nothing is sent: the outcome tells whether there is one.
pub(crate) fn signal_everyone(signal: c_int) -> io::Result<()> {
    // SAFETY: no memory is involved.
    zero(unsafe { libc::kill(-1, signal) })
}

/// Has this process told by SIGIO of whatever comes in at a socket (`man 2 fcntl`, F_SETOWN).
pub(crate) fn announce(socket: BorrowedFd<'_>) -> io::Result<()> {
    let socket = socket.as_raw_fd();
    // SAFETY: no memory is involved, and the descriptor is open.
    let (owned, flags) = unsafe {
        let owned = libc::fcntl(socket, libc::F_SETOWN, libc::getpid());
        (owned, libc::fcntl(socket, libc::F_GETFL))
    };
    zero(owned)?;
    if flags < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: as above.
    zero(unsafe { libc::fcntl(socket, libc::F_SETFL, flags | libc::O_ASYNC) })
}

/// A message that came in at a socket, with what came beside it.
#[derive(Debug)]
pub(crate) struct Message {
    /// Bytes of it.
    pub(crate) length: usize,
    /// Who sent it, as a pid of this namespace; 0 for a process outside. `None` where the socket
    /// was not asked to say (SO_PASSCRED, `man 7 unix`).
    pub(crate) sender: Option<i32>,
    /// The descriptors that it brought, up to eight.
    pub(crate) descriptors: Vec<OwnedFd>,
}

/// Takes a message from a socket, if one is there. (rustix knows no sender with the pid 0.)
pub(crate) fn receive(socket: BorrowedFd<'_>, bytes: &mut [u8]) -> io::Result<Message> {
    // Room for eight descriptors and a sender, aligned as the kernel wants it.
    let mut control = [0_u64; 16];
    let mut place = libc::iovec {
        iov_base: bytes.as_mut_ptr().cast(),
        iov_len: bytes.len(),
    };
    // SAFETY: a zeroed msghdr is valid: no name, no buffers.
    let mut header: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
    header.msg_iov = &raw mut place;
    header.msg_iovlen = 1;
    header.msg_control = control.as_mut_ptr().cast();
    header.msg_controllen = size_of_val(&control) as _;
    let flags = libc::MSG_DONTWAIT | libc::MSG_CMSG_CLOEXEC;
    // SAFETY: the header points to buffers that outlive the call, with their lengths.
    let length = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut header, flags) };
    let length = usize::try_from(length).map_err(|_| io::Error::last_os_error())?;
    let mut message = Message {
        length,
        sender: None,
        descriptors: Vec::new(),
    };
    // SAFETY: the kernel has filled the control buffer and set its length; the macros walk it
    // within that, and each record's data is as long as its header says. Each descriptor in it
    // is new, and nothing else owns it.
    unsafe {
        let mut record = libc::CMSG_FIRSTHDR(&raw const header);
        while !record.is_null() {
            let data = libc::CMSG_DATA(record);
            let size = (*record).cmsg_len as usize - libc::CMSG_LEN(0) as usize;
            match ((*record).cmsg_level, (*record).cmsg_type) {
                (libc::SOL_SOCKET, libc::SCM_RIGHTS) => {
                    for index in 0..size / size_of::<c_int>() {
                        let descriptor = ptr::read_unaligned(data.cast::<c_int>().add(index));
                        message.descriptors.push(OwnedFd::from_raw_fd(descriptor));
                    }
                }
                (libc::SOL_SOCKET, libc::SCM_CREDENTIALS) => {
                    let sender: libc::ucred = ptr::read_unaligned(data.cast());
                    message.sender = Some(sender.pid);
                }
                _ => {}
            }
            record = libc::CMSG_NXTHDR(&raw const header, record);
        }
    }
    Ok(message)
}

/// Starts a process that goes on in `body`, and ends with what that returns. Returns its pid.
///
/// The caller must have a single thread: the child has no other, and every lock as it is.
pub(crate) fn fork(body: impl FnOnce() -> u8) -> io::Result<i32> {
    // SAFETY: with a single thread, everything that the child may touch is in order.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            let code = body();
            // SAFETY: ends the child at once, without running what the parent registered.
            unsafe { libc::_exit(c_int::from(code)) }
        }
        child => Ok(child),
    }
}

/// Closes every descriptor from `first` on.
pub(crate) fn close_from(first: u32) -> io::Result<()> {
    // SAFETY: no owner of those descriptors lives on: the caller executes a program next.
    let outcome = unsafe {
        libc::syscall(
            libc::SYS_close_range,
            c_long::from(first),
            c_long::from(u32::MAX),
            0 as c_long,
        )
    };
    zero(if outcome == 0 { 0 } else { -1 })
}

/// Becomes another program, looked up in `PATH`. Returns only when that failed.
pub(crate) fn exec(argv: &[CString]) -> io::Error {
    let Some(program) = argv.first() else {
        return io::Error::from_raw_os_error(libc::ENOENT);
    };
    let mut pointers: Vec<_> = argv.iter().map(|arg| arg.as_ptr()).collect();
    pointers.push(ptr::null());
    // SAFETY: every pointer is to a NUL-terminated string that lives in `argv`, and the
    // array of them ends with NULL.
    unsafe { libc::execvp(program.as_ptr(), pointers.as_ptr()) };
    io::Error::last_os_error()
}

/// Becomes the program that `argv` names by its path, with the variables of `env` and no others.
/// Returns only when that failed.
pub(crate) fn exec_with(argv: &[CString], env: &[CString]) -> io::Error {
    let Some(program) = argv.first() else {
        return io::Error::from_raw_os_error(libc::ENOENT);
    };
    let pointers = |strings: &[CString]| -> Vec<_> {
        let all = strings.iter().map(|string| string.as_ptr());
        all.chain([ptr::null()]).collect()
    };
    let (arguments, variables) = (pointers(argv), pointers(env));
    // SAFETY: every pointer is to a NUL-terminated string that lives in `argv` or `env`, and
    // both arrays of them end with NULL.
    unsafe { libc::execve(program.as_ptr(), arguments.as_ptr(), variables.as_ptr()) };
    io::Error::last_os_error()
}

/// Makes a system call that must not succeed; `Ok` when it did nevertheless.
///
/// The caller passes arguments that can't have an effect (see the module's text).
pub(crate) fn attempt(number: c_long, arguments: [c_long; 6]) -> io::Result<c_long> {
    let [a, b, c, d, e, f] = arguments;
    // SAFETY: the arguments are no addresses of ours, so the kernel can't write to our
    // memory; the calls in the probes' tables change nothing that outlives the probe.
    match unsafe { libc::syscall(number, a, b, c, d, e, f) } {
        -1 => Err(io::Error::last_os_error()),
        value => Ok(value),
    }
}

/// How a child that tried a foreign entry into the kernel ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ForeignEntry {
    /// It was killed, or told that there is no such thing.
    Refused,
    /// The call went through.
    Reached,
}

/// Tries `getpid` by the 32-bit entry (`int 0x80`) in a child.
///
/// On other processors than x86-64 there is nothing to try.
#[cfg(target_arch = "x86_64")]
pub(crate) fn try_32_bit() -> io::Result<ForeignEntry> {
    in_child(|| {
        let outcome: i32;
        // SAFETY: call 20 of the 32-bit table is getpid: it touches no memory. `int 0x80`
        // clears r8 to r11 on some kernels, so they are declared as overwritten.
        unsafe {
            std::arch::asm!(
                "int 0x80",
                inlateout("eax") 20 => outcome,
                out("r8") _, out("r9") _, out("r10") _, out("r11") _,
            );
        }
        outcome > 0
    })
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn try_32_bit() -> io::Result<ForeignEntry> {
    Ok(ForeignEntry::Refused)
}

/// Tries `getpid` of the x32 table in a child.
#[cfg(target_arch = "x86_64")]
pub(crate) fn try_x32() -> io::Result<ForeignEntry> {
    // SAFETY: getpid touches no memory.
    in_child(|| unsafe { libc::syscall(0x4000_0000 | libc::SYS_getpid) } > 0)
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn try_x32() -> io::Result<ForeignEntry> {
    Ok(ForeignEntry::Refused)
}

#[cfg(target_arch = "x86_64")]
fn in_child(body: impl FnOnce() -> bool) -> io::Result<ForeignEntry> {
    // SAFETY: the porter has one thread, and the child makes system calls only.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            let code = if body() { 0 } else { 1 };
            // SAFETY: ends the child at once, without running what the parent registered.
            unsafe { libc::_exit(code) }
        }
        child => loop {
            let mut status = 0;
            // SAFETY: the status is a local.
            if unsafe { libc::waitpid(child, &raw mut status, 0) } == child {
                let reached = libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0;
                return Ok(match reached {
                    true => ForeignEntry::Reached,
                    false => ForeignEntry::Refused,
                });
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        },
    }
}

fn zero(outcome: c_int) -> io::Result<()> {
    match outcome {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
