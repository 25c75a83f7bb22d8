//go:build !linux

package system

import "fmt"

// unkillable returns nothing: there is no /proc to look at.
func unkillable(int) []struct{} { return nil }

// reapStrays has nothing to do where no container makes us process 1.
func reapStrays() {}

// describe names a group.
func describe(group int) string { return fmt.Sprintf("process %d", group) }
