// Package oracle contains one test: random Services and slices are joined by
// internal/view and by the code of kube-proxy, and both have to say the same.
package oracle
