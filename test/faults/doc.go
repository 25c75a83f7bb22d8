// Package faults holds the catalogue of faults, its README.md, to the tests: every
// row names a promise of the contract and a test that exists. With -logs, a folder
// with what go test -v printed, it demands of every test, and of every subtest,
// that it ran and passed:
//
//	make test TESTFLAGS=-v | tee /tmp/logs/test
//	go test -count=1 ./test/faults -args -logs /tmp/logs
//
// It contains tests only.
package faults
