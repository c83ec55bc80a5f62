// Package filter compiles filter expressions, as tcpdump takes them, to classic BPF, and runs such programs over frames.
//
// In goes the text of an expression, or a program as tcpdump -ddd prints it. Out comes a program for one link type, to be
// attached to a socket (Compile), or a decision about frames of any link type (Matcher). A Matcher is for one goroutine;
// Compile may be called by many. Frames are only looked at, never kept.
//
// The subset of expressions:
//
//	host A, net A/LEN, net A mask M, net 10.1     addresses of IPv4, IPv6 and, for IPv4, of ARP and RARP
//	port N, portrange N-M                         of TCP, UDP and SCTP
//	src, dst, src or dst, src and dst             before any of these; alone they mean host
//	ip, ip6, arp, rarp                            alone, or before host and net
//	tcp, udp, sctp                                alone, or before port and portrange
//	icmp, icmp6                                   alone
//	vlan, vlan N                                  an 802.1Q or 802.1ad tag
//	and, or, not, &&, ||, !, parentheses
//
// What it means is what pcap-filter(7) says. Two rules surprise many. "and" and "or" bind equally, from left to right. And
// "vlan" moves all that follows it in the text behind the tag, so that tagged packets are found only behind "vlan":
// "port 9092 or (vlan and port 9092)" finds both. A value may stand without its qualifiers after and, or: they are those of
// the value before ("port 9092 or 9093").
//
// Names of hosts, networks and ports are not looked up, and neither header bytes (tcp[13]) nor the rarer primitives are
// understood. Such a text is an error that names the word. In three places more is accepted than by tcpdump: "vlan" on
// cooked captures, which carry tags too, and on link types without tags, where it matches nothing; NULL frames of either
// byte order and of any system's number for IPv6; and a value that stands alone behind a parenthesis.
//
// The ports of a fragment are tested where they are, in the first one; those of IPv6 only right behind the fixed header.
package filter
