package pcap_test

import (
	"testing"

	"github.com/kdupscan/kdupscan/pcap"
)

// The names and numbers are those of tcpdump.org/linktypes.html.
func TestLinkTypeString(t *testing.T) {
	for link, want := range map[pcap.LinkType]string{
		0: "NULL", 1: "EN10MB", 9: "PPP", 12: "RAW", 101: "RAW", 104: "C_HDLC", 105: "IEEE802_11", 107: "FRELAY", 108: "LOOP",
		113: "LINUX_SLL", 127: "IEEE802_11_RADIO", 164: "JUNIPER_MONITOR", 182: "MFR", 189: "USB_LINUX", 228: "IPV4", 229: "IPV6",
		231: "DBUS", 239: "NFLOG", 242: "IPOIB", 253: "NETLINK", 258: "PKTAP", 271: "VSOCK", 274: "ETHERNET_MPACKET",
		276: "LINUX_SLL2", 281: "DSA_TAG_BRCM", 284: "DSA_TAG_DSA", 285: "DSA_TAG_EDSA", 299: "FIRA_UCI",
		11: "11", 65535: "65535",
	} {
		if got := link.String(); got != want {
			t.Errorf("%d: %q, want %q", uint16(link), got, want)
		}
	}
}
