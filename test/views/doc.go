// Package views runs the built endpoint-views against a real API server, and follows
// its stream with pkg/views and by hand. It contains tests only.
package views
