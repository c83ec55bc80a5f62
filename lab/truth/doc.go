// Package truth says what a right report of a scenario holds. Which records stand twice comes from the brokers' log alone;
// the proxy's journal adds what the wire showed, for the trigger of a bump and for the counts.
package truth
