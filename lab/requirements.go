package main

import (
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// requirements names, in one line, all that the machine lacks.
func requirements() error {
	var missing []string
	for _, need := range []struct{ program, what string }{
		{"java", "Java 17 or newer"}, {"javac", "a Java 17 development kit (javac)"}, {"mvn", "Maven"}, {"gcc", "gcc"}, {"tcpdump", "tcpdump"},
	} {
		if _, err := exec.LookPath(need.program); err != nil {
			missing = append(missing, need.what)
		} else if need.program == "java" && javaVersion() < 17 {
			missing = append(missing, fmt.Sprintf("%s (this is %d)", need.what, javaVersion()))
		}
	}
	if !mayCapture() {
		missing = append(missing, "root, or CAP_NET_RAW, for tcpdump")
	}
	if len(missing) > 0 {
		return errors.New("this machine lacks " + strings.Join(missing, ", "))
	}
	return nil
}

var versionText = regexp.MustCompile(`version "(?:1\.)?(\d+)`)

// javaVersion is the major version of java, 0 unknown.
func javaVersion() int {
	out, _ := exec.Command("java", "-version").CombinedOutput() // an error leaves no version
	m := versionText.FindSubmatch(out)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(string(m[1])) // digits
	return n
}

// mayCapture reports whether this process, and so tcpdump, may open packet sockets.
func mayCapture() bool {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return false
	}
	unix.Close(fd)
	return true
}
