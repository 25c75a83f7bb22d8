// Package kinds holds the CustomResourceDefinitions of deploy/crds against a real API
// server: they refuse what package documents refuses, and nothing else; they show what
// people look for; and they are what the types say.
//
// It is for tests only. The programs it runs are built by tools/build.sh.
package kinds
