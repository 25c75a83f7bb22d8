// Package assign says who may use which pool, and what becomes of a target that is
// no longer asked for.
//
// In come the documents, the Services with their annotations and what the slices
// show; out comes a Plan: for each Service the pools that fill it, by which ports and
// with which health check, and for each wish that is not granted a reason. It is pure:
// time is a value, and what it remembers is a Memory that the caller hands back.
//
// A team's wish only chooses. Everything that a pool does not allow is forbidden, here
// and nowhere else (contract 58). The list of targets is an inventory too: one that
// vanished is kept for a while, and a mass disappearance is kept until somebody says so
// (contract 60). What a present pool forbids is no mistake and is never kept
// (contract 61).
package assign
