// Package folder reads the folder of DOCUMENTS_DIR. In: a path. Out: what is in its
// files at one moment, and the documents that are in effect after each change. A file or
// folder that cannot be read is a finding, never an absence. It writes nothing.
package folder
