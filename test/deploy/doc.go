// Package deploy tests the manifests in deploy/. It also checks that generated
// manifests are current: what repeats the chart is rendered from the chart, and the
// script in its ConfigMap is that of scripts/.
//
// It is for tests only. The programs it runs are built by tools/build.sh.
package deploy

//go:generate go test . -run TestTheGeneratedManifestsAreCurrent -update
