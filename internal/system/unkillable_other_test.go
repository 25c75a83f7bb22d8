//go:build !linux

package system_test

// beUnkillable does nothing where no test needs it.
func beUnkillable() {}
