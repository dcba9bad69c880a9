// Package bench measures Baton on the machine that it runs on, against what
// that machine can do at most, in the same run.
//
// Machines are noisy and shared, so a figure alone says little. Each workload
// runs beside its limit, round after round, on a fresh database; what is
// reported is the median of the rounds' ratios, with the load average beside
// it. Statements, transactions and bytes of write-ahead log per call don't
// depend on the load at all.
package bench
