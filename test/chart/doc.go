// Package chart tests the Helm chart in helm/ with Helm 3 and Helm 4, and keeps
// the parts of it current that are generated: the variables in values.yaml and
// the schema, the README, and the copies of the alerts and the dashboard.
//
// It is for tests only. The programs it runs are built by tools/build.sh.
package chart

//go:generate go test . -run TestTheGeneratedPartsAreCurrent -update
