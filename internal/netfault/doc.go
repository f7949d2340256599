// Package netfault breaks the network of one host. It cuts, loses, delays, holds, duplicates and
// reorders packets, and resets connections, by peer, port and direction. Processes on the host
// notice nothing but their network.
//
// # How
//
// Each host has a network namespace of its own (package hosts), and with it a packet filter of its
// own. [Open] makes our nf_tables table there, from outside, over netlink. It runs no nft, iptables
// or tc, and touches no packet of the user's own network. A fault is a rule or several, put in
// place as one transaction:
//
//   - The kernel alone carries out [Filter.Drop] and [Filter.Reject]. A partition
//     ([StartPartition]) is a set of drops. Its shape ([Shape]) is a pure function from hosts to
//     cuts.
//   - [Filter.Divert] hands packets to a function of this program, through an NFQUEUE. The function
//     decides the fate of each: pass, drop, delay, hold, copy, reset. [Hold], [HoldReply] and
//     [CutAt] are such functions, aimed at single packets.
//   - [Filter.Degrade] makes a bad network (delay, jitter, loss, duplicates, reordering, rate) by
//     such a function.
//   - [Filter.Reset] aborts TCP connections of the host, so that both ends learn of it
//     (sock_diag(7), SOCK_DESTROY).
//
// A packet passes rules that cut before rules that divert, whichever were made first. It goes
// through all diversions that match it, in the order in which they were made.
//
// # Evidence
//
// Every rule counts packets and bytes for each of its matches, and every diversion counts what
// became of each packet. Healing returns the counts. A fault whose counts are zero has met nothing.
//
// # What is guaranteed
//
//   - Decisions depend on the packets, their stamps and a seeded generator, nothing else.
//   - [Filter.Close] heals everything, and so does the end of the context that Open was given.
//     Rules go, waiting packets are let go, and nothing is lost.
//   - When this program is killed, the kernel removes the table, because we own it (Linux 5.12 and
//     later). Packets of a queue without a listener pass. Our own namespaces go anyway. In those of
//     containers, [Sweep] removes what older kernels leave.
//   - Nothing blocks for ever: the kernel has 5 s to answer, and every wait for packets takes a
//     context.
//
// # Limits
//
// IPv4 only. A port means TCP. Rules see what enters and leaves a host's sockets, not what it
// forwards. Only outgoing packets can be copied. A text to look for must lie in one segment.
// [Probe] reports what a machine can do; docs/network-faults.md says what each fault imitates.
package netfault
