// Package archtest holds the house to its rules: which package may import
// which, which may touch the environment, run programs or talk to a cluster, and
// how large things may grow. It contains tests only. Each rule carries its
// reason, which a failure prints; a rule that is in the way is changed here,
// with its reason, and not evaded.
package archtest
