//go:build !race || go1.27

package bubble

func onOneProcessor() (ended func()) { return func() {} }
