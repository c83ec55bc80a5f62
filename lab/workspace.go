package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/kdupscan/kdupscan/lab/clients"
	"github.com/kdupscan/kdupscan/lab/cluster"
)

// workspace is the folder of all that the lab fetches and makes, outside the repository: $KDUPSCAN_LAB, or kdupscan-lab in the
// user's cache. A lock keeps a second lab out.
type workspace struct {
	dir  string
	lock *os.File
}

func openWorkspace() (*workspace, error) {
	dir := os.Getenv("KDUPSCAN_LAB")
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("%w (or set KDUPSCAN_LAB to a folder)", err)
		}
		dir = filepath.Join(cache, "kdupscan-lab")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(dir, "captures"), 0o755); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		lock.Close()
		return nil, fmt.Errorf("another lab works in %s", dir)
	}
	return &workspace{dir: dir, lock: lock}, nil
}

func (w *workspace) close() { w.lock.Close() }

func (w *workspace) jars() string     { return filepath.Join(w.dir, "jars") }
func (w *workspace) kdupscan() string { return filepath.Join(w.dir, "kdupscan") }

// capture is where a scenario's capture is kept until it is played again.
func (w *workspace) capture(name string) string {
	return filepath.Join(w.dir, "captures", name+".pcap")
}

// build fetches the brokers and builds the producers and kdupscan.
func (w *workspace) build(ctx context.Context, sources string) (clients.Programs, error) {
	if err := cluster.Fetch(ctx, w.jars()); err != nil {
		return clients.Programs{}, err
	}
	build := exec.CommandContext(ctx, "go", "build", "-C", filepath.Join(sources, ".."), "-o", w.kdupscan(), "./cmd/kdupscan")
	if out, err := build.CombinedOutput(); err != nil {
		return clients.Programs{}, fmt.Errorf("%w\n%s", err, out)
	}
	return clients.Build(ctx, sources, w.dir, w.jars())
}
