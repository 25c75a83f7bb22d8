// Package process runs one program to its end. In come the program, its whole
// environment and its standard input; out come its standard output, or an error
// with the last lines of its standard error.
//
// It is the only package that starts processes. It never starts a shell, never
// passes on what it was not given, never returns a part of an output, and never
// leaves a member of the program's process group behind. It logs nothing, and
// no secret of the environment is in what it returns of standard error.
package process
