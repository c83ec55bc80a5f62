//go:build !linux

package pcap

import (
	"errors"
	"fmt"
	"runtime"
)

// OpenLive is an error on this system; see Live.
func OpenLive(LiveOptions) (Live, error) {
	return nil, fmt.Errorf("capturing on %s: %w (only Linux is; run tcpdump -w - and read its output with scan -)",
		runtime.GOOS, errors.ErrUnsupported)
}
