package main

import "github.com/kdupscan/kdupscan/pcap"

// CodeInterrupted: the run was interrupted before the end of its input. What was not read is hidden.
const CodeInterrupted pcap.Code = "interrupted"
