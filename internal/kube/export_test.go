package kube

// Bound is bound.
var Bound = bound
