//! The seccomp filter of a jail: system calls that no program in it may make.
//!
//! Listed calls fail with EPERM and all others are allowed, because Chromium adds its own, much stricter filter in
//! every process that runs a page. `unshare`, `clone`, `chroot`, `prctl` and the landlock calls must stay allowed for
//! Chromium's sandbox.

use crate::JailError;
use libc::{c_int, c_long};
use rustix::fs::{MemfdFlags, memfd_create};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, sock_filter,
};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Seek, Write};
use std::os::fd::OwnedFd;

const REFUSED: &[c_long] = &[
    // Reads and changes other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    // Takes descriptors out of other processes.
    libc::SYS_pidfd_getfd,
    // Compares kernel objects of two processes: leaks addresses.
    libc::SYS_kcmp,
    // The old mount API.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    // The new mount API.
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    // Enters existing namespaces.
    libc::SYS_setns,
    // Opens files by inode, past mounts and permissions of folders.
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    // Kernel keyrings are not confined by namespaces.
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    // Large kernel interfaces with a long record of escapes.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_fanotify_init,
    // Replaces or extends the kernel.
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    // Settings of the whole machine.
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    // Reads the kernel's log, with its addresses.
    libc::SYS_syslog,
    // Hangs up the terminal of the process that started us.
    libc::SYS_vhangup,
    // Turns off address randomisation for what is executed next.
    libc::SYS_personality,
];

/// Calls that exist on this processor only.
#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: &[c_long] = &[
    // Ports of devices.
    libc::SYS_ioperm,
    libc::SYS_iopl,
    // Segments for 16-bit code: a past source of kernel bugs.
    libc::SYS_modify_ldt,
    libc::SYS_uselib,
    libc::SYS_ustat,
    libc::SYS_sysfs,
];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_HERE: &[c_long] = &[];

/// The socket families that a jail needs. Others, such as vsock, can reach the host without a network.
const FAMILIES: &[c_int] = &[libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

/// Chromium lists interfaces and devices. Other netlink protocols, netfilter and xfrm above all, are open to anyone who
/// makes a user and a network namespace, which a jail must allow.
const NETLINK: &[c_int] = &[libc::NETLINK_ROUTE, libc::NETLINK_KOBJECT_UEVENT];

/// TCP and UDP, by number or by default: no raw, ping, UDP-Lite, SCTP, DCCP or MPTCP.
const INET_KINDS: &[c_int] = &[libc::SOCK_STREAM, libc::SOCK_DGRAM];
const INET_PROTOCOLS: &[c_int] = &[0, libc::IPPROTO_TCP, libc::IPPROTO_UDP];
/// Flags that may be added to a socket's type.
const KIND_FLAGS: &[c_int] =
    &[0, libc::SOCK_CLOEXEC, libc::SOCK_NONBLOCK, libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK];

/// Socket options that lead to netfilter's tables and xfrm's policies from any TCP or UDP socket.
const REFUSED_OPTIONS: &[(c_int, &[c_int])] = &[
    // Policies; the tables of iptables, arptables and ebtables with their counters.
    (libc::SOL_IP, &[libc::IP_IPSEC_POLICY, libc::IP_XFRM_POLICY, 64, 65, 96, 97, 128, 129]),
    // Policies; the tables of ip6tables.
    (libc::SOL_IPV6, &[libc::IPV6_IPSEC_POLICY, libc::IPV6_XFRM_POLICY, 64, 65]),
];

/// The flag of x32 calls: the same kernel functions under other numbers, past every rule above.
#[cfg(target_arch = "x86_64")]
const X32_BIT: u32 = 0x4000_0000;

/// The filter in an anonymous file, ready for bubblewrap's `--seccomp`.
pub(crate) fn filter_file() -> Result<OwnedFd, JailError> {
    let fd =
        memfd_create("seccomp", MemfdFlags::CLOEXEC).map_err(JailError::system("making the seccomp file"))?;
    let mut file = File::from(fd);
    let write = file.write_all(&bytes(&program()?)).and_then(|()| file.rewind());
    write.map_err(JailError::system("writing the seccomp file"))?;
    Ok(file.into())
}

fn program() -> Result<BpfProgram, JailError> {
    build().map_err(|source| JailError::Filter { source })
}

fn build() -> Result<BpfProgram, seccompiler::BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        REFUSED.iter().chain(REFUSED_HERE).map(|&number| (number, Vec::new())).collect();
    rules.insert(libc::SYS_socket, refused_sockets()?);
    rules.insert(libc::SYS_socketpair, vec![SeccompRule::new(none_of(0, &[libc::AF_UNIX])?)?]);
    rules.insert(libc::SYS_setsockopt, refused_options()?);

    // A call of another architecture (int 0x80 on x86-64) kills the process; seccompiler puts that first.
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let refuse = SeccompAction::Errno(libc::EPERM as u32);
    let mut program: BpfProgram =
        SeccompFilter::new(rules, SeccompAction::Allow, refuse.clone(), arch)?.try_into()?;
    #[cfg(target_arch = "x86_64")]
    program.splice(0..0, refuse_from(X32_BIT, refuse));
    Ok(program)
}

/// `socket(family, kind, protocol)`: each rule refuses one kind of excess.
fn refused_sockets() -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let kinds: Vec<c_int> =
        INET_KINDS.iter().flat_map(|kind| KIND_FLAGS.iter().map(move |flags| kind | flags)).collect();
    let of = |family, mut others: Vec<SeccompCondition>| {
        others.push(condition(0, SeccompCmpOp::Eq, family)?);
        SeccompRule::new(others)
    };
    let mut rules =
        vec![SeccompRule::new(none_of(0, FAMILIES)?)?, of(libc::AF_NETLINK, none_of(2, NETLINK)?)?];
    for family in [libc::AF_INET, libc::AF_INET6] {
        rules.push(of(family, none_of(1, &kinds)?)?);
        rules.push(of(family, none_of(2, INET_PROTOCOLS)?)?);
    }
    Ok(rules)
}

/// `setsockopt(socket, level, option, …)`.
fn refused_options() -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let pairs = REFUSED_OPTIONS
        .iter()
        .flat_map(|(level, options)| options.iter().map(move |option| (*level, *option)));
    let rule = |(level, option)| {
        SeccompRule::new(vec![
            condition(1, SeccompCmpOp::Eq, level)?,
            condition(2, SeccompCmpOp::Eq, option)?,
        ])
    };
    pairs.map(rule).collect()
}

/// True if an argument differs from all of `values`.
fn none_of(argument: u8, values: &[c_int]) -> Result<Vec<SeccompCondition>, seccompiler::BackendError> {
    values.iter().map(|&value| condition(argument, SeccompCmpOp::Ne, value)).collect()
}

/// The kernel uses only the lower half of such an argument, and so does this comparison.
fn condition(
    argument: u8,
    operator: SeccompCmpOp,
    value: c_int,
) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value as u64)
}

/// Loads the call's number; refuses it at or above `number`; otherwise continues.
#[cfg(target_arch = "x86_64")]
fn refuse_from(number: u32, refuse: SeccompAction) -> [sock_filter; 3] {
    const LOAD_WORD: u16 = 0x20; // BPF_LD | BPF_W | BPF_ABS; the number is at offset 0
    const JUMP_IF_GE: u16 = 0x35; // BPF_JMP | BPF_JGE | BPF_K
    const RETURN: u16 = 0x06; // BPF_RET | BPF_K
    [
        sock_filter { code: LOAD_WORD, jt: 0, jf: 0, k: 0 },
        sock_filter { code: JUMP_IF_GE, jt: 0, jf: 1, k: number },
        sock_filter { code: RETURN, jt: 0, jf: 0, k: refuse.into() },
    ]
}

/// `struct sock_filter` as the kernel lays it out.
fn bytes(program: &[sock_filter]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(program.len() * 8);
    for step in program {
        bytes.extend_from_slice(&step.code.to_ne_bytes());
        bytes.extend_from_slice(&[step.jt, step.jf]);
        bytes.extend_from_slice(&step.k.to_ne_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_chromiums_sandbox_needs_is_not_refused() {
        let needed = [
            libc::SYS_unshare,
            libc::SYS_clone,
            libc::SYS_clone3,
            libc::SYS_chroot,
            libc::SYS_prctl,
            libc::SYS_seccomp,
            libc::SYS_landlock_create_ruleset,
        ];
        for call in needed {
            assert!(!REFUSED.contains(&call) && !REFUSED_HERE.contains(&call), "{call}");
        }
    }

    #[test]
    fn the_filter_compiles_to_whole_instructions_within_the_kernels_bound() {
        let program = program().unwrap();
        assert!(program.len() > REFUSED.len() && program.len() < 4096, "{}", program.len());
        assert_eq!(bytes(&program).len(), program.len() * 8);
    }
}
