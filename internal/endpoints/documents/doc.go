// Package documents turns files of EndpointPools and EndpointBindings into documents
// that cannot be wrong, and folds what a folder holds into the documents that are in
// effect.
//
// In: the content of files. Out: documents with their defaults, or every mistake at once
// with file, line, field, rule and remedy; and a Set, which keeps the last good version
// of each document that is invalid, forbidden or cannot be read. It does no I/O, knows no
// Service and never takes a document for vanished because of a mistake.
package documents

//go:generate go test -run TestTheReferenceIsCurrent . -update
