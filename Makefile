# The usual targets. Everything runs from a plain checkout with Go alone.
GOLANGCI_LINT = github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.12.2
FUZZTIME ?= 20s

.PHONY: build test race lint fuzz bench profile update lab lab-docs ci

build:
	CGO_ENABLED=0 go build -trimpath -o bin/kdupscan ./cmd/kdupscan

test:
	go test ./...

race:
	go test -race ./...

lint:
	gofmt -l . | tee /dev/stderr | wc -l | grep -qx 0
	go vet ./...
	go run $(GOLANGCI_LINT) run

# Each fuzz target for FUZZTIME.
fuzz:
	.ci/fuzz $(FUZZTIME)

# The tables of docs/performance.md; .ci/bench says how to run a part of it.
bench:
	.ci/bench

# The profile that the compiler goes by (go.dev/doc/pgo); to be made anew when the hot paths have changed much.
profile:
	CGO_ENABLED=0 go test -trimpath -pgo off -run '^$$' -bench Scan -benchtime 3s -cpuprofile cmd/kdupscan/default.pgo -o /dev/null ./cmd/kdupscan

# Rewrite golden reports and generated captures. Read the difference before you commit it.
update:
	go test ./report ./cmd/kdupscan ./kafka/kafkatest -update

# Real brokers and clients; see lab/README.md for what it needs.
lab:
	cd lab && go build -o ../bin/lab . && ../bin/lab

lab-docs:
	cd lab && go build -o ../bin/lab . && ../bin/lab -matrix ../docs/lab.md

ci:
	.ci/run
