//go:build !linux

package process_test

// beUnkillable does nothing where no test needs it.
func beUnkillable() {}
