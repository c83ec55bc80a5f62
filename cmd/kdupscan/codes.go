package main

import "github.com/kdupscan/kdupscan/pcap"

// CodeInterrupted: the run was interrupted before the end of its input. What was not read is hidden.
const CodeInterrupted pcap.Code = "interrupted"

// CodeQueueFull: the queue before the analysis of a live run was full, and TCP segments were dropped, one occurrence for
// each. What they carried is hidden; connections have gaps there.
const CodeQueueFull pcap.Code = "queue-full"
