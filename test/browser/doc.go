// Package browser looks at the status page with a real browser: Chromium, driven
// by playwright-core and checked with axe-core, on pages of the built binary, and
// on fixtures where a state takes the binary too long to reach.
//
// It is for tests only and needs chromium, node and npm.
package browser
