// Package proxy stands between the lab's clients and its brokers. It forwards every message byte for byte, keeps a journal
// of what was produced and answered, and works the faults that its rules ask for.
//
// A fault changes only what a broker could have sent: an error that keeps the offset of what was appended, an answer
// that never comes, a connection that ends. What it says of the log is true, so the log remains the measure.
package proxy
