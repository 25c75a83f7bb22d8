package kubeapi

// Bound is bound.
var Bound = bound
