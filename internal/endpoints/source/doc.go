// Package source has the sources of nodes that need no client of another program's API. In
// come a list, a path or a program, out go the nodes. Each decodes an inventory in one way,
// and one that is not complete is an error.
//
//	Static   a fixed list. It never does I/O, and the list never changes.
//	File     a JSON inventory, as the file lists it at the moment of the read. It never
//	         remembers a file, never writes, and reads nothing but regular files.
//	Command  the JSON inventory that a program prints. It never starts a shell and leaves
//	         no process behind; the output of a program that failed is an error.
//
// The sources that ask an API are packages ionos and kubernetes, below.
package source
