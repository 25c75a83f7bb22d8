// Package system asks the operating system for what may hang, or be without end: small files
// that others write, and programs that run to their end.
//
// In goes a path; out comes what the file holds at that moment, or why it cannot be read. It
// reads nothing but regular files of a bounded size, writes nothing and remembers no content.
// The system ends no read of a file system that hangs. So each read has a goroutine of its
// own that is given up on, and a path has one of them at a time.
//
// In come a program, its whole environment and its standard input; out come its standard
// output, or an error with the last lines of its standard error. It is the only package that
// starts processes. It never starts a shell, never passes on what it was not given, never
// returns a part of an output, and never leaves a member of the program's process group
// behind. It logs nothing, and no secret of the environment is in what it returns of standard
// error.
package system
