// Package oracle contains one test: internal/views/join and the code of kube-proxy join
// random Services and slices, and both must have the same result.
package oracle
